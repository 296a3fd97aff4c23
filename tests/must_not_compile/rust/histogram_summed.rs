// A histogram with the sum of a counter.
// must say: this newtype has no meaning under this rule

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = HistogramMerge;
#[cfg(not(control))]
type Chosen = SumNs;

ctprof_sdk::metric! {
    pub Value: HistogramNs, Chosen, entity::Thread { name: "test_value" }
}
