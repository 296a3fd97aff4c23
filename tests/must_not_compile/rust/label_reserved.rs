// A label with a name that readers use.
// must say: key, le, quantile, job and instance are not names of labels: readers use them

use ctprof_sdk::prelude::*;

#[cfg(control)]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,direction" }
}
#[cfg(not(control))]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,le" }
}
