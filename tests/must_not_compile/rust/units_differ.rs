// Nanoseconds with the sum of bytes.
// must say: newtype and rule are about different units: readings in one unit cannot be reduced by a rule for another

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = SumNs;
#[cfg(not(control))]
type Chosen = SumBytes;

ctprof_sdk::metric! {
    pub Value: MonotonicNs, Chosen, entity::Thread { name: "test_value" }
}
