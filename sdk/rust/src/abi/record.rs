//! The structs of `ctprof/abi/record.h` and `ctprof/abi/unwind.h`: windows, records of call stacks,
//! and unwind tables.

use super::{abi_structs, ctprof_text, round_up};
use std::mem::{align_of, size_of};
use std::os::raw::{c_char, c_void};

abi_structs! {
    struct ctprof_unwind_rule: 8 {
        0 => kind: u8,
        1 => bp: u8,
        2 => bp_offset: i16,
        4 => cfa_offset: i32,
    }
    struct ctprof_unwind_row: 4 {
        0 => place: u16,
        2 => rule: u16,
    }
    struct ctprof_unwind_page: 8 {
        0 => first_row: u32,
        4 => rows_count: u32,
    }
    struct ctprof_unwind_table: 64 {
        0 => size: u32,
        4 => number: u32,
        8 => request: u64,
        16 => first_page: u64,
        24 => pages: *const ctprof_unwind_page,
        32 => rows: *const ctprof_unwind_row,
        40 => rules: *const ctprof_unwind_rule,
        48 => pages_count: u32,
        52 => rows_count: u32,
        56 => rules_count: u32,
        60 => reserved: u32,
    }
    struct ctprof_table_request: 104 {
        0 => size: u32,
        4 => flags: u32,
        8 => request: u64,
        16 => tgid: u64,
        24 => start: u64,
        32 => length: u64,
        40 => offset: u64,
        48 => device_major: u32,
        52 => device_minor: u32,
        56 => inode: u64,
        64 => file_size: u64,
        72 => changed_s: i64,
        80 => changed_ns: u32,
        84 => reserved: u32,
        88 => path: ctprof_text,
    }
    struct ctprof_window: 112 {
        0 => size: u32,
        4 => pids_count: u32,
        8 => pids: *const u64,
        16 => cgroups: *const u64,
        24 => cgroups_count: u32,
        28 => frequency_hz: u32,
        32 => period_ns: u64,
        40 => opened_ns: u64,
        48 => depth: u32,
        52 => stack_bytes: u32,
        56 => budget_ppm: u64,
        64 => command: u64,
        72 => user_kind: u32,
        76 => reserved: u32,
        80 => ring_bytes: u64,
        88 => passes_hz: u32,
        92 => flags: u32,
        96 => offers: *const u32,
        104 => offers_count: u32,
        108 => reserved2: u32,
    }
    struct ctprof_record: 136 {
        0 => size: u32,
        4 => offer: u32,
        8 => tgid: u64,
        16 => tid: u64,
        24 => start_time_clock_ticks: u64,
        32 => weight: u64,
        40 => flags: u32,
        44 => user_kind: u32,
        48 => kernel: *const u64,
        56 => user: *const u64,
        64 => kernel_count: u32,
        68 => user_count: u32,
        72 => ip: u64,
        80 => sp: u64,
        88 => bp: u64,
        96 => lr: u64,
        104 => stack: *const u8,
        112 => stack_size: u64,
        120 => at_ns: u64,
        128 => element: u32,
        132 => reserved: u32,
    }
    struct ctprof_change: 104 {
        0 => size: u32,
        4 => kind: u32,
        8 => tgid: u64,
        16 => at_ns: u64,
        24 => parent: u64,
        32 => start: u64,
        40 => length: u64,
        48 => offset: u64,
        56 => device_major: u32,
        60 => device_minor: u32,
        64 => inode: u64,
        72 => path: ctprof_text,
        88 => build_id: ctprof_text,
    }
    struct ctprof_loss: 40 {
        0 => size: u32,
        4 => kind: u32,
        8 => cpu: u32,
        12 => reserved: u32,
        16 => from_ns: u64,
        24 => until_ns: u64,
        32 => count: u64,
    }
    struct ctprof_records: 104 {
        0 => size: u32,
        4 => reserved: u32,
        8 => core: *mut c_void,
        16 => put: Option<unsafe extern "C" fn(core: *mut c_void, record: *const ctprof_record)>,
        24 => message: *mut c_char,
        32 => message_size: usize,
        40 => context: *mut c_void,
        48 => lost: u64,
        56 => unseen: u64,
        64 => change: Option<unsafe extern "C" fn(core: *mut c_void, change: *const ctprof_change)>,
        72 => lose: Option<unsafe extern "C" fn(core: *mut c_void, loss: *const ctprof_loss)>,
        80 => cpu_ns: u64,
        88 => want_table: Option<unsafe extern "C" fn(core: *mut c_void, request: *const ctprof_table_request)>,
        96 => next_table: Option<unsafe extern "C" fn(core: *mut c_void, table: *mut ctprof_unwind_table) -> i32>,
    }
}
