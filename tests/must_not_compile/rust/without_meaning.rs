// A counter with the most frequent value.
// must say: this newtype has no meaning under this rule: take one of the rules that its line in kNewtypes names

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = SumCount;
#[cfg(not(control))]
type Chosen = Mode;

ctprof_sdk::metric! {
    pub Value: MonotonicCount, Chosen, entity::Thread { name: "test_value" }
}
