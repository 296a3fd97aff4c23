//! The exported constant, and the columns of ctprof itself.

use crate::abi;
use crate::boundary::{contained, status};
use crate::host::{Context, Host};
use std::any::Any;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::sync::Arc;

/// The exported constant. It is never written, so all threads may read it.
#[doc(hidden)]
#[repr(transparent)]
pub struct Exported(pub abi::ctprof_plugin);
unsafe impl Sync for Exported {}

/// The ABI's view of a constant array.
#[doc(hidden)]
pub const fn array_of<T>(items: &'static [T]) -> abi::ctprof_array {
    abi::ctprof_array {
        items: items.as_ptr() as *const c_void,
        count: items.len() as u32,
        item_size: size_of::<T>() as u32,
    }
}

/// Creates the context. The result is the address of an `Arc`, which all copies of the host share.
///
/// # Safety
/// Called by ctprof.
#[doc(hidden)]
pub unsafe extern "C" fn open_context<C: Context>(
    host: *const abi::ctprof_host,
    context: *mut *mut c_void,
    message: *mut c_char,
    size: usize,
) -> i32 {
    status(message, size, || {
        let shared: Arc<dyn Any + Send + Sync> = Arc::new(C::open(&Host::copy(host))?);
        *context = Box::into_raw(Box::new(shared)) as *mut c_void;
        Ok(())
    })
}

/// Destroys the context.
///
/// # Safety
/// Called by ctprof.
#[doc(hidden)]
pub unsafe extern "C" fn close_context(context: *mut c_void) {
    let _ = contained(|| {
        drop(Box::from_raw(context as *mut Arc<dyn Any + Send + Sync>));
        Ok(())
    });
}

/// Columns of ctprof that sources may read, in addition to those of their stage.
pub mod columns {
    use crate::entity;
    use crate::newtypes::{IdText, IdU64, Key};

    crate::metric! {
        /// The name of the thread; it may contain any bytes.
        pub Comm: IdText, Key, entity::Thread { name: "comm" }
        /// The cgroup of the thread.
        pub Cgroup: IdText, Key, entity::Thread { name: "cgroup" }
        /// The start time of the thread, in clock ticks since boot.
        pub StartTime: IdU64, Key, entity::Thread { name: "start_time_clock_ticks" }
        /// The text of the thread's file `stat`, as the lister read it. Read it as optional.
        pub StatText: IdText, Key, entity::Thread { name: "stat" }
    }
}

/// Exports the plugin. Use it once, at the root of the crate. `rules`, `derived`, `options` and
/// `context` may be omitted.
///
/// ```no_run
/// # use ctprof_sdk::prelude::*;
/// # ctprof_sdk::metric! { pub Running: GaugeCount, MaxGaugeCount, entity::Host { name: "hello_running" } }
/// # pub struct Stat;
/// # impl Source for Stat {
/// #     type Stage = stage::WholeHost;
/// #     const OFFERS: &'static [Offer] = &[Offer::of::<Running>()];
/// #     fn open(_: &Host) -> Result<Self, Failure> { Ok(Stat) }
/// #     fn collect(&mut self, _: &Batch<Self>) -> Result<(), Failure> { Ok(()) }
/// # }
/// ctprof_sdk::plugin! {
///     name: "hello",
///     version: "1.0",
///     description: "Running threads of the host.",
///     sources: [Stat],
///     options: [("file", "stat", "The file under /proc.")],
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! plugin {
    (
        name: $name:literal,
        version: $version:literal,
        description: $description:literal,
        sources: [$($source:ty),* $(,)?]
        $(, rules: [$($rule:ty),* $(,)?])?
        $(, derived: [$($derived:expr),* $(,)?])?
        $(, options: [$(($key:literal, $default:literal, $about:literal)),* $(,)?])?
        $(, context: $context:ty)?
        $(,)?
    ) => {
        /// The constant that ctprof reads.
        #[no_mangle]
        #[allow(non_upper_case_globals, unsafe_code)]
        pub static ctprof_plugin: $crate::Exported = {
            use $crate::abi;
            const SOURCES: &[abi::ctprof_source] = &[$($crate::Table::<$source>::make(concat!($name, "\0"))),*];
            const RULES: &[abi::ctprof_rule] = &[$($($crate::RuleTable::<$rule>::make()),*)?];
            const DERIVED: &[abi::ctprof_derived] = &[$($($derived),*)?];
            const OPTIONS: &[abi::ctprof_option] = &[$($(abi::ctprof_option {
                size: ::std::mem::size_of::<abi::ctprof_option>() as u32,
                reserved: 0,
                key: $crate::pointer(concat!($key, "\0")),
                fallback: $crate::pointer(concat!($default, "\0")),
                description: $crate::pointer(concat!($about, "\0")),
            }),*)?];
            #[allow(unused_mut)]
            let mut plugin = abi::ctprof_plugin {
                abi: abi::ABI,
                size: ::std::mem::size_of::<abi::ctprof_plugin>() as u32,
                name: $crate::pointer(concat!($name, "\0")),
                version: $crate::pointer(concat!($version, "\0")),
                description: $crate::pointer(concat!($description, "\0")),
                flags: 0,
                reserved: 0,
                sources: $crate::array_of(SOURCES),
                metrics: $crate::array_of::<abi::ctprof_metric>(&[]),
                derived: $crate::array_of(DERIVED),
                rules: $crate::array_of(RULES),
                objects: $crate::array_of::<*const ::std::os::raw::c_char>(&[]),
                open_plugin: None,
                close_plugin: None,
                options: $crate::array_of(OPTIONS),
            };
            $(
                plugin.open_plugin = Some($crate::open_context::<$context>);
                plugin.close_plugin = Some($crate::close_context);
            )?
            $crate::Exported(plugin)
        };
    };
}
