// A metric with three labels.
// must say: a metric has one or two labels

use ctprof_sdk::prelude::*;

#[cfg(control)]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,direction" }
}
#[cfg(not(control))]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,direction,queue" }
}
