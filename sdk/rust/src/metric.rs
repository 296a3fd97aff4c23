//! Metrics, derived metrics and headlines as types and constants.

use crate::abi;
use crate::newtypes::{check_pair, AnyRule, Newtype};
use crate::text::{pointer, terminated, Terminated};
use std::mem::size_of;

/// One metric: a type that [`metric!`](crate::metric!) declares.
pub trait Metric: 'static {
    /// The type of a reading.
    type Newtype: Newtype;
    /// How the readings of a group become one value.
    type Rule: AnyRule;
    /// The kind of row.
    type Entity: Entity;
    /// The permanent name.
    const NAME: &'static str;
    #[doc(hidden)]
    const DEFINITION: abi::ctprof_metric;
}

/// The kind of row that a metric describes: [`Thread`], [`Process`], [`Cgroup`] or [`Host`].
pub trait Entity: sealed::Entity + 'static {
    #[doc(hidden)]
    const NUMBER: u32;
}

mod sealed {
    pub trait Entity {}
}

macro_rules! entities {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Entity for $name {}
        impl Entity for $name { const NUMBER: u32 = $number; }
    )* };
}

/// Kinds of rows.
pub mod entity {
    use super::{sealed, Entity};
    entities! {
        /// A thread.
        Thread = 0;
        /// A process.
        Process = 1;
        /// A cgroup.
        Cgroup = 2;
        /// The host.
        Host = 3;
    }
}

/// How a headline shows a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Shown {
    /// A time divided by the elapsed time.
    Percent = 0,
    /// Per second.
    Rate = 1,
    /// The current value and its change.
    Level = 2,
}

/// A value that an administrator sets; a comparison reports its change.
pub const SETTING: u32 = 4;
/// Reading it takes as long as reading everything else; `record` omits it unless it is requested.
pub const COSTLY: u32 = 8;
/// A column that passes data between sources of the plugin and is never shown.
pub const HIDDEN: u32 = 1;

/// The properties of a metric or a derived metric. The macros fill it; each text ends with a NUL.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct About {
    pub name: &'static str,
    pub unit: &'static str,
    pub family: &'static str,
    pub section: &'static str,
    pub sched_class: &'static str,
    pub config_gates: &'static str,
    pub applies_to: &'static str,
    pub since: &'static str,
    pub source: &'static str,
    pub description: &'static str,
    pub kernel_writer: &'static str,
    pub caveat: &'static str,
    pub map_keys: &'static str,
    pub labels: &'static str,
    pub expression: &'static str,
    pub flags: u32,
    pub headline: &'static str,
    pub shown: Shown,
    pub order: u32,
    pub floor: f64,
}

impl About {
    pub const EMPTY: About = About {
        name: "",
        unit: "",
        family: "",
        section: "",
        sched_class: "",
        config_gates: "",
        applies_to: "",
        since: "",
        source: "",
        description: "",
        kernel_writer: "",
        caveat: "",
        map_keys: "",
        labels: "",
        expression: "",
        flags: 0,
        headline: "",
        shown: Shown::Level,
        order: 0,
        floor: 0.0,
    };

    pub const fn headline(&self) -> abi::ctprof_headline {
        abi::ctprof_headline {
            size: size_of::<abi::ctprof_headline>() as u32,
            order: self.order,
            label: pointer(self.headline),
            shown: self.shown as u32,
            flags: 0,
            floor: self.floor,
        }
    }
}

/// Texts of a metric that end with a NUL.
struct Names<M>(std::marker::PhantomData<M>);

impl<M: Metric> Names<M> {
    const NEWTYPE: Terminated = terminated(<M::Newtype as Newtype>::INFO.name);
    const RULE: Terminated = terminated(<M::Rule as AnyRule>::NAME);
}

/// Makes the definition of a metric. The compilation stops here if the rule does not fit.
#[doc(hidden)]
pub const fn define<M: Metric>(
    about: &About,
    headline: *const abi::ctprof_headline,
) -> abi::ctprof_metric {
    check_pair::<M::Newtype, M::Rule>();
    abi::ctprof_metric {
        size: size_of::<abi::ctprof_metric>() as u32,
        entity: <M::Entity as Entity>::NUMBER,
        storage: <M::Newtype as Newtype>::INFO.storage,
        flags: about.flags,
        name: pointer(about.name),
        newtype: &Names::<M>::NEWTYPE as *const u8 as *const _,
        rule: &Names::<M>::RULE as *const u8 as *const _,
        unit: pointer(about.unit),
        family: pointer(about.family),
        section: pointer(about.section),
        sched_class: pointer(about.sched_class),
        config_gates: pointer(about.config_gates),
        applies_to: pointer(about.applies_to),
        since: pointer(about.since),
        source: pointer(about.source),
        description: pointer(about.description),
        kernel_writer: pointer(about.kernel_writer),
        caveat: pointer(about.caveat),
        file_path: std::ptr::null(),
        file_aliases: std::ptr::null(),
        file_unit: std::ptr::null(),
        file_absent: std::ptr::null(),
        mark: std::ptr::null(),
        map_keys: pointer(about.map_keys),
        headline,
        role: std::ptr::null(),
        labels: pointer(about.labels),
    }
}

/// Makes the definition of a derived metric.
#[doc(hidden)]
pub const fn derive(
    about: &About,
    entity: u32,
    headline: *const abi::ctprof_headline,
) -> abi::ctprof_derived {
    abi::ctprof_derived {
        size: size_of::<abi::ctprof_derived>() as u32,
        entity,
        name: pointer(about.name),
        expression: pointer(about.expression),
        unit: pointer(about.unit),
        family: pointer(about.family),
        section: pointer(about.section),
        sched_class: pointer(about.sched_class),
        config_gates: pointer(about.config_gates),
        applies_to: pointer(about.applies_to),
        description: pointer(about.description),
        caveat: pointer(about.caveat),
        headline,
        role: std::ptr::null(),
        finding: std::ptr::null(),
    }
}

/// The properties of a metric from `key: value` pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! about {
    ($($key:ident: $value:expr),* $(,)?) => {
        $crate::About { $($key: $crate::about!(@ $key, $value),)* ..$crate::About::EMPTY }
    };
    (@ flags, $value:expr) => { $value };
    (@ shown, $value:expr) => { $value };
    (@ order, $value:expr) => { $value };
    (@ floor, $value:expr) => { $value };
    (@ $key:ident, $value:expr) => { concat!($value, "\0") };
}

/// Declares metrics as types: the name of the type, its newtype, its rule and its kind of row, and
/// the properties.
///
/// ```
/// use ctprof_sdk::prelude::*;
///
/// ctprof_sdk::metric! {
///     /// How often the thread blocked.
///     pub Switches: MonotonicCount, SumCount, entity::Thread {
///         name: "hello_switches",
///         source: "/proc/<tgid>/task/<tid>/status:voluntary_ctxt_switches",
///         description: "How often the thread blocked, or yielded its CPU.",
///         headline: "blocks/s",
///         shown: Shown::Rate,
///     }
/// }
/// ```
///
/// Only `name` is required; always add `description`. The properties are those of `About` in
/// `ctprof/metric.hpp`: `unit`, `family`, `section`, `sched_class`, `config_gates`, `applies_to`,
/// `since`, `source`, `description`, `kernel_writer`, `caveat`, `map_keys`, `labels`, `flags`.
/// `headline` is the label of a column of the first screen, with `shown`, `order` and `floor`.
/// `labels` are the names of one or two labels of a map, such as `"device,direction"`;
/// [`label_key`](crate::label_key) makes keys of two labels.
///
/// A meaningless pair of newtype and rule does not compile, and the compiler prints the reason:
///
/// ```compile_fail
/// use ctprof_sdk::prelude::*;
///
/// ctprof_sdk::metric! {
///     pub Wait: PeakNs, SumNs, entity::Thread { name: "hello_wait" }  // a peak does not add up
/// }
/// ```
#[macro_export]
macro_rules! metric {
    ($($(#[$doc:meta])* $visibility:vis $type:ident: $newtype:ty, $rule:ty, $entity:ty {
        name: $name:expr $(, $key:ident: $value:expr)* $(,)?
    })*) => { $(
        $(#[$doc])*
        $visibility struct $type;
        impl $crate::Metric for $type {
            type Newtype = $newtype;
            type Rule = $rule;
            type Entity = $entity;
            const NAME: &'static str = $name;
            const DEFINITION: $crate::abi::ctprof_metric = {
                const ABOUT: $crate::About = $crate::about!(name: $name $(, $key: $value)*);
                const HEADLINE: $crate::abi::ctprof_headline = ABOUT.headline();
                $crate::define::<$type>(
                    &ABOUT,
                    if ABOUT.headline.is_empty() { ::std::ptr::null() } else { &HEADLINE },
                )
            };
        }
        // Checks the definition even if no source offers the metric.
        const _: () = $crate::check_pair::<$newtype, $rule>();
        const _: () =
            $crate::check_labels::<$newtype>($crate::about!(name: $name $(, $key: $value)*).labels);
    )* };
}

/// Declares a derived metric as a constant, for the list `derived` of [`plugin!`](crate::plugin!).
///
/// ```
/// use ctprof_sdk::prelude::*;
///
/// ctprof_sdk::derived! {
///     /// The share of switches that were voluntary.
///     pub VOLUNTARY: entity::Thread {
///         name: "hello_voluntary",
///         expression: "hello_switches / (hello_switches + hello_preempted)",
///         unit: "ratio",
///         description: "The share of switches that were voluntary.",
///     }
/// }
/// ```
#[macro_export]
macro_rules! derived {
    ($(#[$doc:meta])* $visibility:vis $constant:ident: $entity:ty { $($key:ident: $value:expr),* $(,)? }) => {
        $(#[$doc])*
        $visibility const $constant: $crate::abi::ctprof_derived = {
            const ABOUT: $crate::About = $crate::about!($($key: $value),*);
            const HEADLINE: $crate::abi::ctprof_headline = ABOUT.headline();
            $crate::derive(
                &ABOUT,
                <$entity as $crate::Entity>::NUMBER,
                if ABOUT.headline.is_empty() { ::std::ptr::null() } else { &HEADLINE },
            )
        };
    };
}
