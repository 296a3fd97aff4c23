//! Newtypes (the types of readings) and built-in rules (how the readings of a group become one
//! value), and the check of a pair. The tables equal those of `ctprof/newtypes.hpp`.
//!
//! Newtypes are sealed: a plugin cannot add one, because ctprof must know how to store, name and
//! show it. Rules are open: a plugin's own rule implements [`Rule`](crate::Rule).

use crate::text::{equal, is_listed};

/// How the cells of a newtype are stored. Each type below is one storage.
pub trait Storage: sealed::Storage + 'static {
    /// The number in the ABI.
    const NUMBER: u32;
}

/// The type of a reading: one of the types of this module.
pub trait Newtype: sealed::Newtype + 'static {
    /// How a cell is stored, which determines the values that a column takes.
    type Storage: Storage;
    #[doc(hidden)]
    const INFO: NewtypeInfo;
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct NewtypeInfo {
    pub name: &'static str,
    pub storage: u32,
    pub family: &'static str,
    pub unit: &'static str,
    /// The legal rules, separated by commas.
    pub rules: &'static str,
}

#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Max,
    Min,
    Mean,
    Range,
    Mode,
    Affinity,
    PerKey,
    None,
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct RuleInfo {
    pub name: &'static str,
    pub reduction: Reduction,
    /// The only unit that the rule accepts; empty: any.
    pub unit: &'static str,
}

/// A rule as the type of a metric: one of the built-in rules below, or a [`Rule`](crate::Rule) of
/// the plugin.
pub trait AnyRule: 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// The newtypes that a rule of a plugin supports, separated by commas.
    #[doc(hidden)]
    const NEWTYPES: &'static str;
}

pub(crate) mod sealed {
    pub trait Storage {}
    pub trait Newtype {}
}

macro_rules! storages {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Storage for $name {}
        impl Storage for $name { const NUMBER: u32 = $number; }
    )* };
}

/// Storages.
pub mod storage {
    use super::{sealed, Storage};
    storages! {
        /// An unsigned number.
        U64 = 0;
        /// A signed number.
        I64 = 1;
        /// A number with a fraction.
        F64 = 2;
        /// A flag.
        Bool = 3;
        /// A text.
        Text = 4;
        /// A set of bits.
        Bits = 5;
        /// Numbers by name.
        Map = 6;
        /// Numbers by position: the buckets of a histogram.
        Array = 7;
        /// Stacks, only from recorders.
        Stacks = 8;
    }
}

macro_rules! newtypes {
    ($($(#[$doc:meta])* $name:ident, $storage:ident, $family:literal, $unit:literal, $rules:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Newtype for $name {}
        impl Newtype for $name {
            type Storage = storage::$storage;
            const INFO: NewtypeInfo = NewtypeInfo {
                name: stringify!($name), storage: <storage::$storage as Storage>::NUMBER,
                family: $family, unit: $unit, rules: $rules,
            };
        }
    )* };
}

newtypes! {
    /// Events since the thread started: faults, switches, calls.
    MonotonicCount, U64, "cumulative", "count", "SumCount";
    /// A field that the kernel still prints but no longer updates.
    DeadCounter, U64, "cumulative", "none", "Dead";
    /// Accumulated time in ns.
    MonotonicNs, U64, "cumulative", "ns", "SumNs";
    /// Accumulated time in µs.
    MonotonicUs, U64, "cumulative", "us", "SumUs";
    /// All bytes that were transferred or allocated so far.
    Bytes, U64, "cumulative", "bytes", "SumBytes";
    /// Accumulated time in ticks of USER_HZ.
    ClockTicks, U64, "cumulative", "ticks", "SumTicks";
    /// The longest single duration.
    PeakNs, U64, "peak", "ns", "MaxPeak";
    /// The largest amount of memory so far.
    PeakBytes, U64, "peak", "bytes", "MaxPeakBytes";
    /// The largest number so far of things that existed at the same time.
    PeakCount, U64, "peak", "count", "MaxPeakCount";
    /// A duration that is configured now.
    GaugeNs, U64, "gauge", "ns", "MaxGaugeNs";
    /// A current number.
    GaugeCount, U64, "gauge", "count", "MaxGaugeCount,SumGaugeCount";
    /// A current number of bytes.
    GaugeBytes, U64, "gauge", "bytes", "MaxGaugeBytes,SumGaugeBytes";
    /// A current number with a fraction.
    GaugeF64, F64, "gauge", "none", "MaxGaugeF64,SumGaugeF64,MeanGaugeF64";
    /// A share in hundredths of a percent.
    GaugeRatio100, U64, "gauge", "percent", "MaxRatio";
    /// A signed position on a scale.
    OrdinalI32, I64, "categorical", "none", "RangeI32,MaxOrdinal";
    /// A position on a scale, up to 32 bits.
    OrdinalU32, U64, "categorical", "none", "RangeU32";
    /// A position on a scale, up to 64 bits.
    OrdinalU64, U64, "limit", "none", "MaxOrdinal,RangeU64";
    /// A name out of a small set.
    CategoricalString, Text, "categorical", "none", "Mode";
    /// One letter.
    Char, Text, "categorical", "none", "ModeChar";
    /// Yes or no.
    Flag, Bool, "categorical", "none", "ModeBool,AnyFlag";
    /// A set of CPUs, as bits.
    CpuSet, Bits, "categorical", "cpus", "Affinity";
    /// A limit in bytes; the largest number means "none".
    LimitBytes, U64, "limit", "bytes", "LimitMax";
    /// A limit of a number of things.
    LimitCount, U64, "limit", "count", "LimitMax";
    /// A limit of a time.
    LimitUs, U64, "limit", "us", "LimitMax";
    /// A guarantee in bytes.
    FloorBytes, U64, "limit", "bytes", "FloorMin";
    /// Counters of events by name.
    CountMap, Map, "cumulative", "count", "MapSum";
    /// Counters of bytes by name.
    BytesMap, Map, "cumulative", "bytes", "MapSum";
    /// Sizes in KiB by name.
    KibMap, Map, "gauge", "kib", "MapSum";
    /// Numbers of several kinds by name.
    MixedMap, Map, "gauge", "none", "MapMixed";
    /// The number of durations by bucket (`histogram_bucket`).
    HistogramNs, Array, "cumulative", "ns", "HistogramMerge";
    /// The number of other values by bucket.
    HistogramCount, Array, "cumulative", "count", "HistogramMerge";
    /// Call stacks, weighted by time.
    StackNs, Stacks, "cumulative", "ns", "StackSum";
    /// Call stacks, weighted by events.
    StackCount, Stacks, "cumulative", "count", "StackSum";
    /// Call stacks, weighted by bytes.
    StackBytes, Stacks, "cumulative", "bytes", "StackSum";
    /// The result of a formula; no source offers it.
    Derived, F64, "gauge", "none", "Formula";
    /// The identity of a row, up to 32 bits.
    IdU32, U64, "identity", "none", "Key";
    /// The identity of a row, up to 64 bits.
    IdU64, U64, "identity", "none", "Key";
    /// The identity of a row, as a text.
    IdText, Text, "identity", "text", "Key";
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident, $reduction:ident, $unit:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;
            impl AnyRule for $name {
                const NAME: &'static str = stringify!($name);
                const NEWTYPES: &'static str = "";
            }
        )*
        pub(crate) const RULES: &[RuleInfo] = &[$(
            RuleInfo { name: stringify!($name), reduction: Reduction::$reduction, unit: $unit },
        )*];
    };
}

rules! {
    /// The sum of counts.
    SumCount, Sum, "count";
    /// The sum of times in ns.
    SumNs, Sum, "ns";
    /// The sum of times in µs.
    SumUs, Sum, "us";
    /// The sum of ticks.
    SumTicks, Sum, "ticks";
    /// The sum of bytes.
    SumBytes, Sum, "bytes";
    /// The sum of current numbers.
    SumGaugeCount, Sum, "count";
    /// The sum of current bytes.
    SumGaugeBytes, Sum, "bytes";
    /// The sum of fractions.
    SumGaugeF64, Sum, "none";
    /// The longest time.
    MaxPeak, Max, "ns";
    /// The largest peak of bytes.
    MaxPeakBytes, Max, "bytes";
    /// The largest peak of a count.
    MaxPeakCount, Max, "count";
    /// The longest configured time.
    MaxGaugeNs, Max, "ns";
    /// The largest current number.
    MaxGaugeCount, Max, "count";
    /// The largest current number of bytes.
    MaxGaugeBytes, Max, "bytes";
    /// The largest fraction.
    MaxGaugeF64, Max, "none";
    /// The mean of all rows that have a value.
    MeanGaugeF64, Mean, "none";
    /// The largest share.
    MaxRatio, Max, "percent";
    /// The highest position on a scale.
    MaxOrdinal, Max, "none";
    /// The least restrictive limit.
    LimitMax, Max, "";
    /// The weakest guarantee.
    FloorMin, Min, "bytes";
    /// The smallest and the largest value.
    RangeI32, Range, "none";
    /// The smallest and the largest value.
    RangeU32, Range, "none";
    /// The smallest and the largest value.
    RangeU64, Range, "none";
    /// The most frequent value.
    Mode, Mode, "";
    /// The most frequent letter.
    ModeChar, Mode, "";
    /// The more frequent flag.
    ModeBool, Mode, "";
    /// True if any is true.
    AnyFlag, Mode, "";
    /// The number of CPUs, and the set if all rows have the same.
    Affinity, Affinity, "cpus";
    /// The sum of each key.
    MapSum, PerKey, "";
    /// Each key by its kind.
    MapMixed, PerKey, "";
    /// The sum of each bucket, with percentiles.
    HistogramMerge, PerKey, "";
    /// The sum of each stack.
    StackSum, Sum, "";
    /// The rule of formulas.
    Formula, None, "";
    /// The rule of identities.
    Key, None, "";
    /// The rule of dead counters.
    Dead, None, "";
}

const fn find_rule(name: &str) -> Option<RuleInfo> {
    let mut i = 0;
    while i < RULES.len() {
        if equal(RULES[i].name, name) {
            return Some(RULES[i]);
        }
        i += 1;
    }
    None
}

/// Checks a newtype with a built-in rule, as `ctprof/newtypes.hpp` and the loader of ctprof do. The
/// compilation stops with one of these messages.
const fn check_built_in(newtype: &NewtypeInfo, rule: &RuleInfo) {
    let counts = matches!(
        rule.reduction,
        Reduction::Sum | Reduction::Max | Reduction::Min | Reduction::Mean
    );
    let is_range = matches!(rule.reduction, Reduction::Range);
    let is_category = matches!(newtype.storage, 3 | 4 | 5);
    if is_listed(newtype.rules, rule.name) {
        return;
    }
    if equal(newtype.name, "DeadCounter") {
        panic!("a dead counter never changes: its only rule is Dead, which gives no value");
    }
    if equal(newtype.family, "peak") && matches!(rule.reduction, Reduction::Sum) {
        panic!("a peak does not add up: the longest times of several threads occurred at different moments");
    }
    if is_category && (counts || is_range) {
        panic!("a category is a name, not a quantity: it has no sum, largest, smallest or range");
    }
    if !rule.unit.is_empty() && !equal(newtype.unit, rule.unit) {
        panic!("newtype and rule are about different units: readings in one unit cannot be reduced by a rule for another");
    }
    without_meaning()
}

const fn without_meaning() {
    panic!("this newtype has no meaning under this rule: take one of the rules that its line in kNewtypes names")
}

/// Stops the compilation if a rule does not fit a newtype.
#[doc(hidden)]
pub const fn check_pair<N: Newtype, R: AnyRule>() {
    match find_rule(R::NAME) {
        Some(rule) => check_built_in(&N::INFO, &rule),
        None => {
            if !is_listed(R::NEWTYPES, N::INFO.name) {
                without_meaning()
            }
        }
    }
}
