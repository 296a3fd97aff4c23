// Labels of a metric that is not a map.
// must say: only a map has labels

use ctprof_sdk::prelude::*;

#[cfg(control)]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device" }
}
#[cfg(not(control))]
ctprof_sdk::metric! {
    pub Moved: MonotonicCount, SumCount, entity::Thread { name: "test_moved", labels: "device" }
}
