// A dead counter with a sum.
// must say: a dead counter never changes: its only rule is Dead, which gives no value

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = Dead;
#[cfg(not(control))]
type Chosen = SumCount;

ctprof_sdk::metric! {
    pub Value: DeadCounter, Chosen, entity::Thread { name: "test_value" }
}
