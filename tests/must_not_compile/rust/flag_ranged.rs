// A flag with a range.
// must say: a category is a name, not a quantity: it has no sum, largest, smallest or range

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = ModeBool;
#[cfg(not(control))]
type Chosen = RangeU32;

ctprof_sdk::metric! {
    pub Value: Flag, Chosen, entity::Thread { name: "test_value" }
}
