// A label with an invalid name.
// must say: the name of a label is at most 32 lower case letters

use ctprof_sdk::prelude::*;

#[cfg(control)]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "device,direction" }
}
#[cfg(not(control))]
ctprof_sdk::metric! {
    pub Moved: CountMap, MapSum, entity::Thread { name: "test_moved", labels: "Device" }
}
