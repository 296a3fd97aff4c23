// A peak with a sum.
// must say: a peak does not add up: the longest times of several threads occurred at different moments

use ctprof_sdk::prelude::*;

#[cfg(control)]
type Chosen = MaxPeak;
#[cfg(not(control))]
type Chosen = SumNs;

ctprof_sdk::metric! {
    pub Value: PeakNs, Chosen, entity::Thread { name: "test_value" }
}
