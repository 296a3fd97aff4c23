// Two labels with one name.
// must say: the two labels of a metric have different names

use ctprof_sdk::prelude::*;

#[cfg(control)]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,direction" }
}
#[cfg(not(control))]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,device" }
}
