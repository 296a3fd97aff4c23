// A category with a sum.
// must say: a category is a name, not a quantity: it has no sum, largest, smallest or range

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = Mode;
#[cfg(not(control))]
type Chosen = SumCount;

ctprof_sdk::metric! {
    pub Value: CategoricalString, Chosen, entity::Thread { name: "test_value" }
}
