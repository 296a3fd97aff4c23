// The layout of ABI version 1, number by number.
//
// Plugins that were built years ago rely on every line here. A line never changes and never goes; a
// field that is new at the end of a struct gets a line of its own, and raises the struct's SIZE.
// Anything else is another ABI, with another number.
//
// What is here:   offsets, sizes, signatures and numbers, checked while compiling (64-bit, as on
// x86-64 and aarch64). What is not:    behaviour: frozen.c is a plugin from that time, and
// contract_test.py runs it.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes) && alignof(type) == 8)
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset))
#define CALL(type, field, ...) static_assert(std::is_same_v<decltype(type::field), __VA_ARGS__>)
#define NUMBER(name, value) static_assert((name) == (value))
#define GAP(name, value, word)                                                               \
  static_assert((name) == (value) && ctprof::Gap::word == static_cast<ctprof::Gap>(value) && \
                ctprof::kGapNames[value] == #word)

static_assert(sizeof(void*) == 8, "the offsets below are those of 64-bit machines");

// Structs.
SIZE(ctprof_text, 16);
AT(ctprof_text, data, 0);
AT(ctprof_text, size, 8);

SIZE(ctprof_entry, 24);
AT(ctprof_entry, key, 0);
AT(ctprof_entry, value, 16);

SIZE(ctprof_array, 16);
AT(ctprof_array, items, 0);
AT(ctprof_array, count, 8);
AT(ctprof_array, item_size, 12);

SIZE(ctprof_metric, 192);
AT(ctprof_metric, size, 0);
AT(ctprof_metric, entity, 4);
AT(ctprof_metric, storage, 8);
AT(ctprof_metric, flags, 12);
AT(ctprof_metric, name, 16);
AT(ctprof_metric, newtype, 24);
AT(ctprof_metric, rule, 32);
AT(ctprof_metric, unit, 40);
AT(ctprof_metric, family, 48);
AT(ctprof_metric, section, 56);
AT(ctprof_metric, sched_class, 64);
AT(ctprof_metric, config_gates, 72);
AT(ctprof_metric, applies_to, 80);
AT(ctprof_metric, since, 88);
AT(ctprof_metric, source, 96);
AT(ctprof_metric, description, 104);
AT(ctprof_metric, kernel_writer, 112);
AT(ctprof_metric, caveat, 120);
AT(ctprof_metric, file_path, 128);
AT(ctprof_metric, file_aliases, 136);
AT(ctprof_metric, file_unit, 144);
AT(ctprof_metric, file_absent, 152);
AT(ctprof_metric, mark, 160);
AT(ctprof_metric, map_keys, 168);
AT(ctprof_metric, headline, 176);
AT(ctprof_metric, role, 184);

SIZE(ctprof_headline, 32);
AT(ctprof_headline, size, 0);
AT(ctprof_headline, order, 4);
AT(ctprof_headline, label, 8);
AT(ctprof_headline, shown, 16);
AT(ctprof_headline, flags, 20);
AT(ctprof_headline, floor, 24);

SIZE(ctprof_derived, 104);
AT(ctprof_derived, size, 0);
AT(ctprof_derived, entity, 4);
AT(ctprof_derived, name, 8);
AT(ctprof_derived, expression, 16);
AT(ctprof_derived, unit, 24);
AT(ctprof_derived, family, 32);
AT(ctprof_derived, section, 40);
AT(ctprof_derived, sched_class, 48);
AT(ctprof_derived, config_gates, 56);
AT(ctprof_derived, applies_to, 64);
AT(ctprof_derived, description, 72);
AT(ctprof_derived, caveat, 80);
AT(ctprof_derived, headline, 88);
AT(ctprof_derived, role, 96);

SIZE(ctprof_host, 88);
AT(ctprof_host, size, 0);
AT(ctprof_host, flags, 4);
AT(ctprof_host, proc_fd, 8);
AT(ctprof_host, sys_fd, 12);
AT(ctprof_host, cgroup_fd, 16);
AT(ctprof_host, user_hz, 20);
AT(ctprof_host, proc, 24);
AT(ctprof_host, sys, 32);
AT(ctprof_host, cgroup, 40);
AT(ctprof_host, sample_tgid, 48);
AT(ctprof_host, sample_tid, 56);
AT(ctprof_host, context, 64);
AT(ctprof_host, options, 72);

SIZE(ctprof_option, 32);
AT(ctprof_option, size, 0);
AT(ctprof_option, reserved, 4);
AT(ctprof_option, key, 8);
AT(ctprof_option, fallback, 16);
AT(ctprof_option, description, 24);

SIZE(ctprof_setting, 16);
AT(ctprof_setting, key, 0);
AT(ctprof_setting, value, 8);

SIZE(ctprof_offer, 16);
AT(ctprof_offer, metric, 0);
AT(ctprof_offer, rank, 8);
AT(ctprof_offer, reserved, 12);

SIZE(ctprof_probe, 32);
AT(ctprof_probe, size, 0);
AT(ctprof_probe, reserved, 4);
AT(ctprof_probe, core, 8);
AT(ctprof_probe, refuse, 16);
AT(ctprof_probe, remedy, 24);

SIZE(ctprof_input, 16);
AT(ctprof_input, values, 0);
AT(ctprof_input, gaps, 8);

SIZE(ctprof_cells, 16);
AT(ctprof_cells, values, 0);
AT(ctprof_cells, gaps, 8);

SIZE(ctprof_batch, 104);
AT(ctprof_batch, size, 0);
AT(ctprof_batch, rows, 4);
AT(ctprof_batch, inputs, 8);
AT(ctprof_batch, cells, 16);
AT(ctprof_batch, core, 24);
AT(ctprof_batch, put_text, 32);
AT(ctprof_batch, put_bits, 40);
AT(ctprof_batch, put_map, 48);
AT(ctprof_batch, put_array, 56);
AT(ctprof_batch, tally, 64);
AT(ctprof_batch, rows_done, 72);
AT(ctprof_batch, reserved, 76);
AT(ctprof_batch, longest_stop_ns, 80);
AT(ctprof_batch, message, 88);
AT(ctprof_batch, message_size, 96);

SIZE(ctprof_listing, 80);
AT(ctprof_listing, size, 0);
AT(ctprof_listing, pids_count, 4);
AT(ctprof_listing, pids, 8);
AT(ctprof_listing, core, 16);
AT(ctprof_listing, room, 24);
AT(ctprof_listing, commit, 32);
AT(ctprof_listing, message, 40);
AT(ctprof_listing, message_size, 48);
AT(ctprof_listing, context, 56);
AT(ctprof_listing, lost, 64);
AT(ctprof_listing, unseen, 72);

SIZE(ctprof_summary, 80);
AT(ctprof_summary, size, 0);
AT(ctprof_summary, tallies_count, 4);
AT(ctprof_summary, tallies, 8);
AT(ctprof_summary, rows_listed, 16);
AT(ctprof_summary, rows_absent, 24);
AT(ctprof_summary, core, 32);
AT(ctprof_summary, put_u64, 40);
AT(ctprof_summary, put_bool, 48);
AT(ctprof_summary, put_text, 56);
AT(ctprof_summary, note, 64);
AT(ctprof_summary, context, 72);

SIZE(ctprof_source, 144);
AT(ctprof_source, size, 0);
AT(ctprof_source, stage, 4);
AT(ctprof_source, name, 8);
AT(ctprof_source, offers, 16);
AT(ctprof_source, reads, 32);
AT(ctprof_source, tallies_count, 48);
AT(ctprof_source, reserved, 52);
AT(ctprof_source, summary_key, 56);
AT(ctprof_source, probe, 64);
AT(ctprof_source, open_worker, 72);
AT(ctprof_source, collect, 80);
AT(ctprof_source, list, 88);
AT(ctprof_source, close_worker, 96);
AT(ctprof_source, summarise, 104);
AT(ctprof_source, start, 112);
AT(ctprof_source, drain_exited, 120);
AT(ctprof_source, drain_records, 128);
AT(ctprof_source, stop, 136);

SIZE(ctprof_window, 64);
AT(ctprof_window, size, 0);
AT(ctprof_window, pids_count, 4);
AT(ctprof_window, pids, 8);
AT(ctprof_window, cgroups, 16);
AT(ctprof_window, cgroups_count, 24);
AT(ctprof_window, frequency_hz, 28);
AT(ctprof_window, period_ns, 32);
AT(ctprof_window, opened_ns, 40);
AT(ctprof_window, depth, 48);
AT(ctprof_window, stack_bytes, 52);
AT(ctprof_window, budget_ppm, 56);

SIZE(ctprof_record, 120);
AT(ctprof_record, size, 0);
AT(ctprof_record, offer, 4);
AT(ctprof_record, tgid, 8);
AT(ctprof_record, tid, 16);
AT(ctprof_record, start_time_clock_ticks, 24);
AT(ctprof_record, weight, 32);
AT(ctprof_record, flags, 40);
AT(ctprof_record, user_kind, 44);
AT(ctprof_record, kernel, 48);
AT(ctprof_record, user, 56);
AT(ctprof_record, kernel_count, 64);
AT(ctprof_record, user_count, 68);
AT(ctprof_record, ip, 72);
AT(ctprof_record, sp, 80);
AT(ctprof_record, bp, 88);
AT(ctprof_record, lr, 96);
AT(ctprof_record, stack, 104);
AT(ctprof_record, stack_size, 112);

SIZE(ctprof_records, 64);
AT(ctprof_records, size, 0);
AT(ctprof_records, reserved, 4);
AT(ctprof_records, core, 8);
AT(ctprof_records, put, 16);
AT(ctprof_records, message, 24);
AT(ctprof_records, message_size, 32);
AT(ctprof_records, context, 40);
AT(ctprof_records, lost, 48);
AT(ctprof_records, unseen, 56);

SIZE(ctprof_stack, 16);
AT(ctprof_stack, stack, 0);
AT(ctprof_stack, weight, 8);

SIZE(ctprof_rows, 104);
AT(ctprof_rows, size, 0);
AT(ctprof_rows, storage, 4);
AT(ctprof_rows, count, 8);
AT(ctprof_rows, first_row, 16);
AT(ctprof_rows, groups, 24);
AT(ctprof_rows, gaps, 32);
AT(ctprof_rows, values, 40);
AT(ctprof_rows, core, 48);
AT(ctprof_rows, text, 56);
AT(ctprof_rows, bits, 64);
AT(ctprof_rows, map, 72);
AT(ctprof_rows, map_keys, 80);
AT(ctprof_rows, stacks, 88);
AT(ctprof_rows, frames, 96);

SIZE(ctprof_number, 16);
AT(ctprof_number, kind, 0);
AT(ctprof_number, reserved, 4);
AT(ctprof_number, u64, 8);
AT(ctprof_number, i64, 8);
AT(ctprof_number, f64, 8);

SIZE(ctprof_sink, 24);
AT(ctprof_sink, size, 0);
AT(ctprof_sink, reserved, 4);
AT(ctprof_sink, core, 8);
AT(ctprof_sink, put, 16);

SIZE(ctprof_parts, 24);
AT(ctprof_parts, size, 0);
AT(ctprof_parts, reserved, 4);
AT(ctprof_parts, core, 8);
AT(ctprof_parts, put, 16);

SIZE(ctprof_rule, 136);
AT(ctprof_rule, size, 0);
AT(ctprof_rule, state_size, 4);
AT(ctprof_rule, name, 8);
AT(ctprof_rule, fallback, 16);
AT(ctprof_rule, newtypes, 24);
AT(ctprof_rule, description, 32);
AT(ctprof_rule, init, 40);
AT(ctprof_rule, add, 48);
AT(ctprof_rule, merge, 56);
AT(ctprof_rule, finish, 64);
AT(ctprof_rule, destroy, 72);
AT(ctprof_rule, number, 80);
AT(ctprof_rule, delta, 88);
AT(ctprof_rule, text, 96);
AT(ctprof_rule, json, 104);
AT(ctprof_rule, extras, 112);
AT(ctprof_rule, parts, 120);
AT(ctprof_rule, reduction, 128);
AT(ctprof_rule, reserved, 132);

SIZE(ctprof_plugin, 152);
AT(ctprof_plugin, abi, 0);
AT(ctprof_plugin, size, 4);
AT(ctprof_plugin, name, 8);
AT(ctprof_plugin, version, 16);
AT(ctprof_plugin, description, 24);
AT(ctprof_plugin, flags, 32);
AT(ctprof_plugin, reserved, 36);
AT(ctprof_plugin, sources, 40);
AT(ctprof_plugin, metrics, 56);
AT(ctprof_plugin, derived, 72);
AT(ctprof_plugin, rules, 88);
AT(ctprof_plugin, objects, 104);
AT(ctprof_plugin, open_plugin, 120);
AT(ctprof_plugin, close_plugin, 128);
AT(ctprof_plugin, options, 136);

// Signatures.
CALL(ctprof_probe, refuse, void (*)(void*, std::uint32_t, ctprof_gap, const char*, std::size_t));
CALL(ctprof_probe, remedy,
     void (*)(void*, std::uint32_t, const char*, std::size_t, ctprof_remedy, const char*,
              std::size_t));
CALL(ctprof_batch, put_text,
     void (*)(void*, std::uint32_t, std::uint32_t, const char*, std::size_t));
CALL(ctprof_batch, put_bits,
     void (*)(void*, std::uint32_t, std::uint32_t, const std::uint64_t*, std::size_t));
CALL(ctprof_batch, put_map,
     void (*)(void*, std::uint32_t, std::uint32_t, const ctprof_entry*, std::size_t));
CALL(ctprof_batch, put_array,
     void (*)(void*, std::uint32_t, std::uint32_t, const std::uint64_t*, std::size_t));
CALL(ctprof_batch, tally, void (*)(void*, std::uint32_t, std::uint64_t));
CALL(ctprof_listing, room, ctprof_batch* (*)(void*));
CALL(ctprof_listing, commit, void (*)(void*, std::uint32_t));
CALL(ctprof_summary, put_u64, void (*)(void*, const char*, std::uint64_t));
CALL(ctprof_summary, put_bool, void (*)(void*, const char*, std::uint32_t));
CALL(ctprof_summary, put_text, void (*)(void*, const char*, const char*, std::size_t));
CALL(ctprof_summary, note, void (*)(void*, const char*, std::size_t));
CALL(ctprof_source, probe, void (*)(const ctprof_host*, const ctprof_probe*));
CALL(ctprof_source, open_worker, std::int32_t (*)(const ctprof_host*, void**, char*, std::size_t));
CALL(ctprof_source, collect, std::int32_t (*)(void*, ctprof_batch*));
CALL(ctprof_source, list, std::int32_t (*)(void*, ctprof_listing*));
CALL(ctprof_source, close_worker, void (*)(void*));
CALL(ctprof_source, summarise, void (*)(const ctprof_summary*));
CALL(ctprof_source, start, std::int32_t (*)(void*, const ctprof_window*, char*, std::size_t));
CALL(ctprof_source, drain_exited, std::int32_t (*)(void*, ctprof_listing*));
CALL(ctprof_source, drain_records, std::int32_t (*)(void*, ctprof_records*));
CALL(ctprof_source, stop, std::int32_t (*)(void*, char*, std::size_t));
CALL(ctprof_records, put, void (*)(void*, const ctprof_record*));
CALL(ctprof_plugin, open_plugin, std::int32_t (*)(const ctprof_host*, void**, char*, std::size_t));
CALL(ctprof_plugin, close_plugin, void (*)(void*));
CALL(ctprof_rows, stacks, const ctprof_stack* (*)(const void*, std::uint32_t, std::size_t*));
CALL(ctprof_rows, frames, const std::uint32_t* (*)(const void*, std::uint64_t, std::size_t*));
CALL(ctprof_rows, text, ctprof_text (*)(const void*, std::uint32_t));
CALL(ctprof_rows, bits, const std::uint64_t* (*)(const void*, std::uint32_t, std::size_t*));
CALL(ctprof_rows, map, const ctprof_entry* (*)(const void*, std::uint32_t, std::size_t*));
CALL(ctprof_sink, put, void (*)(void*, const char*, std::size_t));
CALL(ctprof_parts, put, void (*)(void*, ctprof_text, ctprof_number, ctprof_text));
CALL(ctprof_rule, init, void (*)(void*));
CALL(ctprof_rule, add, void (*)(void*, const ctprof_rows*));
CALL(ctprof_rule, merge, void (*)(void*, const void*));
CALL(ctprof_rule, finish, void (*)(void*));
CALL(ctprof_rule, destroy, void (*)(void*));
CALL(ctprof_rule, number, ctprof_number (*)(const void*));
CALL(ctprof_rule, delta, ctprof_number (*)(const void*, const void*, const ctprof_sink*));
CALL(ctprof_rule, text, void (*)(const void*, const char*, const ctprof_sink*));
CALL(ctprof_rule, json, void (*)(const void*, const ctprof_sink*));
CALL(ctprof_rule, extras, void (*)(const void*, const ctprof_sink*));
CALL(ctprof_rule, parts, void (*)(const void*, const ctprof_parts*));

// Scalar types.
static_assert(std::is_same_v<ctprof_entity, std::uint32_t> &&
              std::is_same_v<ctprof_storage, std::uint32_t>);
static_assert(std::is_same_v<ctprof_stage, std::uint32_t> &&
              std::is_same_v<ctprof_gap, std::uint8_t>);
static_assert(std::is_same_v<ctprof_metric_flags, std::uint32_t> &&
              std::is_same_v<ctprof_host_flags, std::uint32_t>);
static_assert(std::is_same_v<ctprof_plugin_flags, std::uint32_t> &&
              std::is_same_v<ctprof_remedy, std::uint32_t>);

// Numbers. Those of entities, storages and gaps reach the file.
NUMBER(CTPROF_ABI, 1);
NUMBER(CTPROF_MAX_ROWS, 1024);

NUMBER(CTPROF_THREAD, 0);
NUMBER(CTPROF_PROCESS, 1);
NUMBER(CTPROF_CGROUP, 2);
NUMBER(CTPROF_HOST, 3);

NUMBER(CTPROF_U64, 0);
NUMBER(CTPROF_I64, 1);
NUMBER(CTPROF_F64, 2);
NUMBER(CTPROF_BOOL, 3);
NUMBER(CTPROF_STRING, 4);
NUMBER(CTPROF_BITSET, 5);
NUMBER(CTPROF_MAP, 6);
NUMBER(CTPROF_ARRAY, 7);
NUMBER(CTPROF_STACKS, 8);

GAP(CTPROF_VALUE, 0, None);
GAP(CTPROF_UNTOUCHED, 1, Untouched);
GAP(CTPROF_NOT_APPLICABLE, 2, NotApplicable);
GAP(CTPROF_THREAD_GONE, 3, ThreadGone);
GAP(CTPROF_DENIED, 4, Denied);
GAP(CTPROF_UNSUPPORTED, 5, Unsupported);
GAP(CTPROF_SWITCHED_OFF, 6, SwitchedOff);
GAP(CTPROF_PREDATES_SWITCH, 7, PredatesSwitch);
GAP(CTPROF_MALFORMED, 8, Malformed);
GAP(CTPROF_BUSY, 9, Busy);
GAP(CTPROF_SOURCE_FAILED, 10, SourceFailed);
GAP(CTPROF_NOT_IN_FILE, 11, NotInFile);
GAP(CTPROF_UNSEEN, 12, Unseen);
GAP(CTPROF_NO_BASE, 13, NoBase);
GAP(CTPROF_WENT_BACKWARDS, 14, WentBackwards);

NUMBER(CTPROF_STAGE_LIST, 0);
NUMBER(CTPROF_STAGE_THREAD, 1);
NUMBER(CTPROF_STAGE_PROCESS, 2);
NUMBER(CTPROF_STAGE_CGROUP, 3);
NUMBER(CTPROF_STAGE_HOST, 4);
NUMBER(CTPROF_STAGE_EXITED, 5);
NUMBER(CTPROF_STAGE_RECORD, 6);

NUMBER(CTPROF_METRIC_HIDDEN, 1);
NUMBER(CTPROF_METRIC_MARK, 2);
NUMBER(CTPROF_METRIC_SETTING, 4);
NUMBER(CTPROF_METRIC_COSTLY, 8);

NUMBER(CTPROF_SHOWN_PERCENT, 0);
NUMBER(CTPROF_SHOWN_RATE, 1);
NUMBER(CTPROF_SHOWN_LEVEL, 2);
NUMBER(CTPROF_HEADLINE_BY_CHANGE, 1);

NUMBER(CTPROF_DONE, 0);
NUMBER(CTPROF_FAILED, 1);
NUMBER(CTPROF_ALREADY, 2);

NUMBER(CTPROF_USER_NONE, 0);
NUMBER(CTPROF_USER_ADDRESSES, 1);
NUMBER(CTPROF_USER_COPY, 2);
NUMBER(CTPROF_RECORD_CUT, 1);
NUMBER(CTPROF_RECORD_NO_USER, 2);
NUMBER(CTPROF_RECORD_GUESSED, 4);

NUMBER(CTPROF_REDUCES_OTHERWISE, 0);
NUMBER(CTPROF_REDUCES_BY_SUM, 1);
NUMBER(CTPROF_REDUCES_BY_MAX, 2);
NUMBER(CTPROF_REDUCES_BY_MIN, 3);
NUMBER(CTPROF_REDUCES_TO_RANGE, 4);
NUMBER(CTPROF_REDUCES_TO_MODE, 5);
NUMBER(CTPROF_REDUCES_TO_AFFINITY, 6);
NUMBER(CTPROF_REDUCES_BY_KEY, 7);

NUMBER(CTPROF_HOST_LIVE, 1);
NUMBER(CTPROF_HOST_OWN_TIDS, 2);

NUMBER(CTPROF_PLUGIN_LAYOUT, 1);
NUMBER(CTPROF_PLUGIN_ALWAYS, 2);

NUMBER(CTPROF_REMEDY_NONE, 0);
NUMBER(CTPROF_REMEDY_COMMAND, 1);
NUMBER(CTPROF_REMEDY_CAPABILITIES, 2);
NUMBER(CTPROF_REMEDY_BOOT, 3);
NUMBER(CTPROF_REMEDY_KERNEL, 4);

NUMBER(CTPROF_NUMBER_NONE, 0);
NUMBER(CTPROF_NUMBER_U64, 1);
NUMBER(CTPROF_NUMBER_I64, 2);
NUMBER(CTPROF_NUMBER_F64, 3);

int main() { return 0; }
