//! Rules of a plugin: a state, and functions on it.

use crate::abi;
use crate::boundary::contained;
use crate::newtypes::AnyRule;
use crate::text::{terminated, Terminated};
use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::os::raw::{c_char, c_void};

/// A number that a rule returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A number with a fraction.
    F64(f64),
}

/// The value of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowValue<'a> {
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A number with a fraction.
    F64(f64),
    /// A flag.
    Bool(bool),
    /// A text.
    Text(&'a [u8]),
}

impl RowValue<'_> {
    /// Returns the value as a number; 0 for a text.
    pub fn as_f64(self) -> f64 {
        match self {
            RowValue::U64(value) => value as f64,
            RowValue::I64(value) => value as f64,
            RowValue::F64(value) => value,
            RowValue::Bool(value) => u8::from(value).into(),
            RowValue::Text(_) => 0.0,
        }
    }
}

/// A rule of the plugin: the state of one group. The default state is that of an empty group.
///
/// Adding and merging must be independent of order: rows come in any order, from several workers.
///
/// ```
/// use ctprof_sdk::prelude::*;
///
/// #[derive(Default)]
/// pub struct Mean { sum: f64, count: u64 }
///
/// impl Rule for Mean {
///     const NAME: &'static str = "hello_mean";
///     const NEWTYPES: &'static str = "GaugeCount,GaugeNs";
///     const FALLBACK: &'static str = "MaxGaugeCount";
///     const DESCRIPTION: &'static str = "the mean of the group";
///
///     fn add(&mut self, value: RowValue) {
///         self.sum += value.as_f64();
///         self.count += 1;
///     }
///     fn merge(&mut self, from: &Self) {
///         self.sum += from.sum;
///         self.count += from.count;
///     }
///     fn number(&self) -> Option<Number> {
///         (self.count > 0).then(|| Number::F64(self.sum / self.count as f64))
///     }
/// }
///
/// ctprof_sdk::metric! {
///     pub Depth: GaugeCount, Mean, entity::Thread { name: "hello_depth" }
/// }
/// ```
///
/// If a function panics, the group has no value.
pub trait Rule: Default + Send + 'static {
    /// Begins with the plugin's name and "_".
    const NAME: &'static str;
    /// The newtypes that the rule supports, separated by commas.
    const NEWTYPES: &'static str;
    /// A built-in rule that replaces this one on hosts without this plugin.
    const FALLBACK: &'static str;
    /// For `ctprof help METRIC`: "the mean of the group".
    const DESCRIPTION: &'static str = "";

    /// Adds the value of a row.
    fn add(&mut self, value: RowValue);
    /// Adds the rows of another state of the same group.
    fn merge(&mut self, from: &Self);
    /// Returns the value of the group; `None` if no row had a value.
    fn number(&self) -> Option<Number>;
}

impl<R: Rule> AnyRule for R {
    const NAME: &'static str = <R as Rule>::NAME;
    const NEWTYPES: &'static str = <R as Rule>::NEWTYPES;
}

/// The state of one group in the memory of ctprof, which is zeroed. `None`: no row was added yet, or
/// a function panicked.
struct State<R> {
    is_alive: bool,
    has_panicked: bool,
    rule: std::mem::MaybeUninit<R>,
}

impl<R: Rule> State<R> {
    /// Returns the rule, and creates it for the first row; `None` after a panic.
    fn rule(&mut self) -> Option<&mut R> {
        if self.has_panicked {
            return None;
        }
        if !self.is_alive {
            self.rule.write(R::default());
            self.is_alive = true;
        }
        Some(unsafe { self.rule.assume_init_mut() })
    }
    fn existing(&self) -> Option<&R> {
        if !self.is_alive || self.has_panicked {
            return None;
        }
        Some(unsafe { self.rule.assume_init_ref() })
    }
}

/// The table of a rule for the ABI.
#[doc(hidden)]
pub struct RuleTable<R>(PhantomData<R>);

impl<R: Rule> RuleTable<R> {
    const NAME: Terminated = terminated(<R as Rule>::NAME);
    const NEWTYPES: Terminated = terminated(<R as Rule>::NEWTYPES);
    const FALLBACK: Terminated = terminated(R::FALLBACK);
    const DESCRIPTION: Terminated = terminated(R::DESCRIPTION);

    pub const fn make() -> abi::ctprof_rule {
        assert!(align_of::<State<R>>() <= 8, "the state of a rule needs an alignment above 8 bytes");
        abi::ctprof_rule {
            size: size_of::<abi::ctprof_rule>() as u32,
            state_size: size_of::<State<R>>() as u32,
            name: &Self::NAME as *const u8 as *const c_char,
            fallback: &Self::FALLBACK as *const u8 as *const c_char,
            newtypes: &Self::NEWTYPES as *const u8 as *const c_char,
            description: &Self::DESCRIPTION as *const u8 as *const c_char,
            init: None,
            add: Some(add::<R>),
            merge: Some(merge::<R>),
            finish: None,
            destroy: Some(destroy::<R>),
            number: Some(number::<R>),
            delta: None,
            text: None,
            json: None,
            extras: None,
            parts: None,
            reduction: 0,
            reserved: 0,
        }
    }
}

/// Calls a function on a state. A panic makes the state permanently empty.
unsafe fn on_state<R: Rule>(state: *mut State<R>, function: impl FnOnce(&mut R)) {
    let result = contained(|| {
        if let Some(rule) = (*state).rule() {
            function(rule);
        }
        Ok(())
    });
    (*state).has_panicked |= result.is_err();
}

/// Returns the value of a row, or `None` for a storage without a [`RowValue`].
unsafe fn row_value<'a>(rows: &'a abi::ctprof_rows, row: usize) -> Option<RowValue<'a>> {
    Some(match rows.storage {
        0 => RowValue::U64(*(rows.values as *const u64).add(row)),
        1 => RowValue::I64(*(rows.values as *const i64).add(row)),
        2 => RowValue::F64(*(rows.values as *const f64).add(row)),
        3 => RowValue::Bool(*(rows.values as *const u8).add(row) != 0),
        4 => {
            let text = rows.text?(rows.core, *(rows.values as *const u32).add(row));
            if text.size == 0 {
                RowValue::Text(&[])
            } else {
                RowValue::Text(std::slice::from_raw_parts(text.data as *const u8, text.size))
            }
        }
        _ => return None,
    })
}

unsafe extern "C" fn add<R: Rule>(states: *mut c_void, rows: *const abi::ctprof_rows) {
    let rows = &*rows;
    for row in 0..rows.count as usize {
        let group = *rows.groups.add(row);
        if group == u32::MAX || (!rows.gaps.is_null() && *rows.gaps.add(row) != 0) {
            continue;
        }
        if let Some(value) = row_value(rows, row) {
            on_state((states as *mut State<R>).add(group as usize), |rule| rule.add(value));
        }
    }
}

unsafe extern "C" fn merge<R: Rule>(into: *mut c_void, from: *const c_void) {
    let (into, from) = (into as *mut State<R>, &*(from as *const State<R>));
    (*into).has_panicked |= from.has_panicked;
    if let Some(from) = from.existing() {
        on_state(into, |rule| rule.merge(from));
    }
}

unsafe extern "C" fn destroy<R: Rule>(state: *mut c_void) {
    let state = &mut *(state as *mut State<R>);
    if std::mem::take(&mut state.is_alive) {
        let _ = contained(|| {
            state.rule.assume_init_drop();
            Ok(())
        });
    }
}

unsafe extern "C" fn number<R: Rule>(state: *const c_void) -> abi::ctprof_number {
    let state = &*(state as *const State<R>);
    let value = contained(|| Ok(state.existing().and_then(R::number))).unwrap_or(None);
    let (kind, bits) = match value {
        None => (0, 0),
        Some(Number::U64(value)) => (1, value),
        Some(Number::I64(value)) => (2, value as u64),
        Some(Number::F64(value)) => (3, value.to_bits()),
    };
    abi::ctprof_number { kind, reserved: 0, bits }
}
