//! Plugins of ctprof in safe Rust.
//!
//! A plugin is a `cdylib` that adds metrics to ctprof. It needs this crate and nothing else:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! ctprof-sdk = { path = "/usr/share/ctprof/sdk/rust" }
//! ```
//!
//! `examples/threads.rs` is a complete plugin. `ctprof plugin new NAME --lang rust` creates a
//! directory with another one, its test and its build files.
//!
//! - [`metric!`] declares metrics: a newtype, a rule and a kind of row as types. A meaningless pair
//!   does not compile, and the compiler prints the same message as for C++.
//! - [`Source`] fills cells. `batch.column::<M>()` compiles only for metrics that it offers, and
//!   `put` takes only values that keep their sign and their fraction.
//! - [`Rule`] is a rule of the plugin; newtypes are sealed.
//! - [`plugin!`] exports the plugin.
//!
//! Panics do not cross the boundary: the source fails with the message of the panic, and the capture
//! continues. Authors need no `unsafe`: `#![deny(unsafe_code)]` holds in the example.
//!
//! Listers and recorders have no safe types yet; write them with the structs in [`abi`], or in C++.
//!
//! The crate compiles with Rust 1.63.

#![warn(missing_docs)]

pub mod abi;
mod batch;
mod boundary;
mod files;
mod gap;
mod histogram;
mod host;
mod labels;
mod metric;
pub mod newtypes;
mod plugin;
mod rule;
mod source;
mod text;

pub use batch::{Batch, Cgroup, Column, Figure, Input, InputColumn, Process, Value};
pub use boundary::Failure;
pub use files::{number, value_of, TextFile};
pub use gap::{Gap, Reading};
pub use histogram::{histogram_bucket, histogram_smallest, HISTOGRAM_BUCKETS};
pub use host::{Context, Directory, Host, Probe, Remedy, Thread};
pub use labels::{label_key, MAX_LABELS};
pub use metric::{entity, Entity, Metric, Shown, COSTLY, HIDDEN, SETTING};
pub use plugin::columns;
pub use rule::{Number, RowValue, Rule};
pub use source::{stage, Offer, Read, Source, Stage, Summary};

#[doc(hidden)]
pub use metric::{define, derive, About};
#[doc(hidden)]
pub use labels::check_labels;
#[doc(hidden)]
pub use newtypes::check_pair;
#[doc(hidden)]
pub use plugin::{array_of, close_context, open_context, Exported};
#[doc(hidden)]
pub use rule::RuleTable;
#[doc(hidden)]
pub use source::Table;
#[doc(hidden)]
pub use text::pointer;

/// Everything that a plugin uses: `use ctprof_sdk::prelude::*;`.
pub mod prelude {
    pub use crate::newtypes::*;
    pub use crate::{
        columns, entity, number, stage, value_of, Batch, Cgroup, Column, Context, Directory, Failure, Figure, Gap, Host,
        Metric, Number, Offer, Probe, Process, Read, Reading, Remedy, RowValue, Rule, Shown, Source, Summary, TextFile,
        Thread,
    };
}
