// A newtype of the plugin.
// must say: the trait bound `Seconds: Newtype` is not satisfied

use ctprof_sdk::newtypes::Newtype;

pub struct Seconds;

#[cfg(not(control))]
impl Newtype for Seconds {
    type Storage = ctprof_sdk::newtypes::storage::U64;
    const INFO: ctprof_sdk::newtypes::NewtypeInfo = ctprof_sdk::newtypes::MonotonicNs::INFO;
}

pub fn name<N: Newtype>() -> &'static str {
    N::INFO.name
}
