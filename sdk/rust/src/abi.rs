//! The structs of the C ABI, as declared in `ctprof/abi.h`, which documents every field.
//!
//! The numbers are sizes and offsets on 64-bit machines. The compiler checks them against the layout
//! rules of C, and a test of ctprof compares them with the C headers. New fields are added at the
//! ends of structs; a struct here may be shorter than that of a newer ctprof.
//!
//! Plugins use the safe types of this crate instead. These structs are public for plugins that need
//! a part of the ABI that has no safe type yet, such as listers and recorders.

#![allow(non_camel_case_types, missing_docs)]

use std::mem::{align_of, size_of};
use std::os::raw::{c_char, c_void};

mod record;
pub use record::*;

pub const ABI: u32 = 1;
/// The maximum number of rows in one batch.
pub const MAX_ROWS: usize = 1024;

/// Rounds an offset up to a multiple of `alignment`, as C does before it places a field.
#[allow(dead_code)] // Rust 1.63 does not count uses in `const _`
const fn round_up(offset: usize, alignment: usize) -> usize {
    (offset + alignment - 1) / alignment * alignment
}

/// Declares structs of C, with their sizes and the offsets of their fields.
macro_rules! abi_structs {
    ($(struct $name:ident: $size:literal { $($offset:literal => $field:ident: $type:ty,)* })*) => { $(
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name { $(pub $field: $type,)* }

        #[cfg(target_pointer_width = "64")]
        const _: () = {
            let mut end = 0;
            $(
                let at = round_up(end, align_of::<$type>());
                assert!(at == $offset, concat!("wrong offset of ", stringify!($name), ".", stringify!($field)));
                end = at + size_of::<$type>();
            )*
            assert!(size_of::<$name>() == $size, concat!("wrong size of ", stringify!($name)));
            assert!(round_up(end, align_of::<$name>()) == $size, concat!("wrong offsets of ", stringify!($name)));
        };
    )* };
}
pub(crate) use abi_structs;

abi_structs! {
    struct ctprof_text: 16 {
        0 => data: *const c_char,
        8 => size: usize,
    }
    struct ctprof_entry: 24 {
        0 => key: ctprof_text,
        16 => value: u64,
    }
    struct ctprof_array: 16 {
        0 => items: *const c_void,
        8 => count: u32,
        12 => item_size: u32,
    }
    struct ctprof_headline: 32 {
        0 => size: u32,
        4 => order: u32,
        8 => label: *const c_char,
        16 => shown: u32,
        20 => flags: u32,
        24 => floor: f64,
    }
    struct ctprof_metric: 200 {
        0 => size: u32,
        4 => entity: u32,
        8 => storage: u32,
        12 => flags: u32,
        16 => name: *const c_char,
        24 => newtype: *const c_char,
        32 => rule: *const c_char,
        40 => unit: *const c_char,
        48 => family: *const c_char,
        56 => section: *const c_char,
        64 => sched_class: *const c_char,
        72 => config_gates: *const c_char,
        80 => applies_to: *const c_char,
        88 => since: *const c_char,
        96 => source: *const c_char,
        104 => description: *const c_char,
        112 => kernel_writer: *const c_char,
        120 => caveat: *const c_char,
        128 => file_path: *const c_char,
        136 => file_aliases: *const c_char,
        144 => file_unit: *const c_char,
        152 => file_absent: *const c_char,
        160 => mark: *const c_char,
        168 => map_keys: *const c_char,
        176 => headline: *const ctprof_headline,
        184 => role: *const c_char,
        192 => labels: *const c_char,
    }
    struct ctprof_finding: 32 {
        0 => size: u32,
        4 => next: u32,
        8 => at_least: f64,
        16 => weight: f64,
        24 => statement: *const c_char,
    }
    struct ctprof_derived: 112 {
        0 => size: u32,
        4 => entity: u32,
        8 => name: *const c_char,
        16 => expression: *const c_char,
        24 => unit: *const c_char,
        32 => family: *const c_char,
        40 => section: *const c_char,
        48 => sched_class: *const c_char,
        56 => config_gates: *const c_char,
        64 => applies_to: *const c_char,
        72 => description: *const c_char,
        80 => caveat: *const c_char,
        88 => headline: *const ctprof_headline,
        96 => role: *const c_char,
        104 => finding: *const ctprof_finding,
    }
    struct ctprof_option: 32 {
        0 => size: u32,
        4 => reserved: u32,
        8 => key: *const c_char,
        16 => fallback: *const c_char,
        24 => description: *const c_char,
    }
    struct ctprof_setting: 16 {
        0 => key: *const c_char,
        8 => value: *const c_char,
    }
    struct ctprof_host: 88 {
        0 => size: u32,
        4 => flags: u32,
        8 => proc_fd: i32,
        12 => sys_fd: i32,
        16 => cgroup_fd: i32,
        20 => user_hz: u32,
        24 => proc: *const c_char,
        32 => sys: *const c_char,
        40 => cgroup: *const c_char,
        48 => sample_tgid: u64,
        56 => sample_tid: u64,
        64 => context: *mut c_void,
        72 => options: ctprof_array,
    }
    struct ctprof_offer: 16 {
        0 => metric: *const ctprof_metric,
        8 => rank: i32,
        12 => reserved: u32,
    }
    struct ctprof_probe: 32 {
        0 => size: u32,
        4 => reserved: u32,
        8 => core: *mut c_void,
        16 => refuse: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, gap: u8, reason: *const c_char, reason_size: usize)>,
        24 => remedy: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, lack: *const c_char, lack_size: usize, kind: u32, what: *const c_char, what_size: usize)>,
    }
    struct ctprof_stack: 16 {
        0 => stack: u64,
        8 => weight: u64,
    }
    struct ctprof_rows: 104 {
        0 => size: u32,
        4 => storage: u32,
        8 => count: u64,
        16 => first_row: u64,
        24 => groups: *const u32,
        32 => gaps: *const u8,
        40 => values: *const c_void,
        48 => core: *const c_void,
        56 => text: Option<unsafe extern "C" fn(core: *const c_void, id: u32) -> ctprof_text>,
        64 => bits: Option<unsafe extern "C" fn(core: *const c_void, id: u32, words: *mut usize) -> *const u64>,
        72 => map: Option<unsafe extern "C" fn(core: *const c_void, id: u32, entries: *mut usize) -> *const ctprof_entry>,
        80 => map_keys: *const c_char,
        88 => stacks: Option<unsafe extern "C" fn(core: *const c_void, id: u32, stacks: *mut usize) -> *const ctprof_stack>,
        96 => frames: Option<unsafe extern "C" fn(core: *const c_void, stack: u64, frames: *mut usize) -> *const u32>,
    }
    struct ctprof_number: 16 {
        0 => kind: u32,
        4 => reserved: u32,
        8 => bits: u64,
    }
    struct ctprof_sink: 24 {
        0 => size: u32,
        4 => reserved: u32,
        8 => core: *mut c_void,
        16 => put: Option<unsafe extern "C" fn(core: *mut c_void, data: *const c_char, size: usize)>,
    }
    struct ctprof_parts: 24 {
        0 => size: u32,
        4 => reserved: u32,
        8 => core: *mut c_void,
        16 => put: Option<unsafe extern "C" fn(core: *mut c_void, key: ctprof_text, value: ctprof_number, unit: ctprof_text)>,
    }
    struct ctprof_rule: 136 {
        0 => size: u32,
        4 => state_size: u32,
        8 => name: *const c_char,
        16 => fallback: *const c_char,
        24 => newtypes: *const c_char,
        32 => description: *const c_char,
        40 => init: Option<unsafe extern "C" fn(state: *mut c_void)>,
        48 => add: Option<unsafe extern "C" fn(states: *mut c_void, rows: *const ctprof_rows)>,
        56 => merge: Option<unsafe extern "C" fn(into: *mut c_void, from: *const c_void)>,
        64 => finish: Option<unsafe extern "C" fn(state: *mut c_void)>,
        72 => destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
        80 => number: Option<unsafe extern "C" fn(state: *const c_void) -> ctprof_number>,
        88 => delta: Option<unsafe extern "C" fn(baseline: *const c_void, candidate: *const c_void, text: *const ctprof_sink) -> ctprof_number>,
        96 => text: Option<unsafe extern "C" fn(state: *const c_void, unit: *const c_char, text: *const ctprof_sink)>,
        104 => json: Option<unsafe extern "C" fn(state: *const c_void, json: *const ctprof_sink)>,
        112 => extras: Option<unsafe extern "C" fn(state: *const c_void, json: *const ctprof_sink)>,
        120 => parts: Option<unsafe extern "C" fn(state: *const c_void, parts: *const ctprof_parts)>,
        128 => reduction: u32,
        132 => reserved: u32,
    }
    struct ctprof_input: 16 {
        0 => values: *const c_void,
        8 => gaps: *const u8,
    }
    struct ctprof_cells: 16 {
        0 => values: *mut c_void,
        8 => gaps: *mut u8,
    }
    struct ctprof_batch: 104 {
        0 => size: u32,
        4 => rows: u32,
        8 => inputs: *const ctprof_input,
        16 => cells: *const ctprof_cells,
        24 => core: *mut c_void,
        32 => put_text: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, row: u32, data: *const c_char, size: usize)>,
        40 => put_bits: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, row: u32, words: *const u64, words_count: usize)>,
        48 => put_map: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, row: u32, entries: *const ctprof_entry, count: usize)>,
        56 => put_array: Option<unsafe extern "C" fn(core: *mut c_void, offer: u32, row: u32, values: *const u64, count: usize)>,
        64 => tally: Option<unsafe extern "C" fn(core: *mut c_void, tally: u32, count: u64)>,
        72 => rows_done: u32,
        76 => reserved: u32,
        80 => longest_stop_ns: u64,
        88 => message: *mut c_char,
        96 => message_size: usize,
    }
    struct ctprof_listing: 80 {
        0 => size: u32,
        4 => pids_count: u32,
        8 => pids: *const u64,
        16 => core: *mut c_void,
        24 => room: Option<unsafe extern "C" fn(core: *mut c_void) -> *mut ctprof_batch>,
        32 => commit: Option<unsafe extern "C" fn(core: *mut c_void, rows: u32)>,
        40 => message: *mut c_char,
        48 => message_size: usize,
        56 => context: *mut c_void,
        64 => lost: u64,
        72 => unseen: u64,
    }
    struct ctprof_summary: 80 {
        0 => size: u32,
        4 => tallies_count: u32,
        8 => tallies: *const u64,
        16 => rows_listed: u64,
        24 => rows_absent: u64,
        32 => core: *mut c_void,
        40 => put_u64: Option<unsafe extern "C" fn(core: *mut c_void, key: *const c_char, value: u64)>,
        48 => put_bool: Option<unsafe extern "C" fn(core: *mut c_void, key: *const c_char, value: u32)>,
        56 => put_text: Option<unsafe extern "C" fn(core: *mut c_void, key: *const c_char, data: *const c_char, size: usize)>,
        64 => note: Option<unsafe extern "C" fn(core: *mut c_void, data: *const c_char, size: usize)>,
        72 => context: *mut c_void,
    }
    struct ctprof_source: 160 {
        0 => size: u32,
        4 => stage: u32,
        8 => name: *const c_char,
        16 => offers: ctprof_array,
        32 => reads: ctprof_array,
        48 => tallies_count: u32,
        52 => reserved: u32,
        56 => summary_key: *const c_char,
        64 => probe: Option<unsafe extern "C" fn(host: *const ctprof_host, probe: *const ctprof_probe)>,
        72 => open_worker: Option<unsafe extern "C" fn(host: *const ctprof_host, worker: *mut *mut c_void, message: *mut c_char, message_size: usize) -> i32>,
        80 => collect: Option<unsafe extern "C" fn(worker: *mut c_void, batch: *mut ctprof_batch) -> i32>,
        88 => list: Option<unsafe extern "C" fn(worker: *mut c_void, listing: *mut ctprof_listing) -> i32>,
        96 => close_worker: Option<unsafe extern "C" fn(worker: *mut c_void)>,
        104 => summarise: Option<unsafe extern "C" fn(summary: *const ctprof_summary)>,
        112 => start: Option<unsafe extern "C" fn(worker: *mut c_void, window: *const ctprof_window, message: *mut c_char, message_size: usize) -> i32>,
        120 => drain_exited: Option<unsafe extern "C" fn(worker: *mut c_void, listing: *mut ctprof_listing) -> i32>,
        128 => drain_records: Option<unsafe extern "C" fn(worker: *mut c_void, records: *mut ctprof_records) -> i32>,
        136 => stop: Option<unsafe extern "C" fn(worker: *mut c_void, message: *mut c_char, message_size: usize) -> i32>,
        144 => window_ends: Option<unsafe extern "C" fn(worker: *mut c_void, message: *mut c_char, message_size: usize) -> i32>,
        152 => window_opens: Option<unsafe extern "C" fn(worker: *mut c_void, message: *mut c_char, message_size: usize) -> i32>,
    }
    struct ctprof_plugin: 152 {
        0 => abi: u32,
        4 => size: u32,
        8 => name: *const c_char,
        16 => version: *const c_char,
        24 => description: *const c_char,
        32 => flags: u32,
        36 => reserved: u32,
        40 => sources: ctprof_array,
        56 => metrics: ctprof_array,
        72 => derived: ctprof_array,
        88 => rules: ctprof_array,
        104 => objects: ctprof_array,
        120 => open_plugin: Option<unsafe extern "C" fn(host: *const ctprof_host, context: *mut *mut c_void, message: *mut c_char, message_size: usize) -> i32>,
        128 => close_plugin: Option<unsafe extern "C" fn(context: *mut c_void)>,
        136 => options: ctprof_array,
    }
}
