// The signatures, scalar types and numbers of ABI version 1. abi_layout_test.cc checks the structs,
// and explains the consequences of a change. The numbers of entities, storages and gaps are stored
// in files.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"

#define CALL(type, field, ...) static_assert(std::is_same_v<decltype(type::field), __VA_ARGS__>)
#define NUMBER(name, value) static_assert((name) == (value))
#define GAP(name, value, word)                                                               \
  static_assert((name) == (value) && ctprof::Gap::word == static_cast<ctprof::Gap>(value) && \
                ctprof::kGapNames[value] == #word)

// The signatures of all functions.
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
CALL(ctprof_records, change, void (*)(void*, const ctprof_change*));
CALL(ctprof_records, lose, void (*)(void*, const ctprof_loss*));
CALL(ctprof_records, want_table, void (*)(void*, const ctprof_table_request*));
CALL(ctprof_records, next_table, std::int32_t (*)(void*, ctprof_unwind_table*));
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

// The scalar types.
static_assert(std::is_same_v<ctprof_entity, std::uint32_t> &&
              std::is_same_v<ctprof_storage, std::uint32_t>);
static_assert(std::is_same_v<ctprof_stage, std::uint32_t> &&
              std::is_same_v<ctprof_gap, std::uint8_t>);
static_assert(std::is_same_v<ctprof_metric_flags, std::uint32_t> &&
              std::is_same_v<ctprof_host_flags, std::uint32_t>);
static_assert(std::is_same_v<ctprof_plugin_flags, std::uint32_t> &&
              std::is_same_v<ctprof_remedy, std::uint32_t>);

// The numbers of all constants.
NUMBER(CTPROF_ABI, 1);
NUMBER(CTPROF_MAX_ROWS, 1024);
NUMBER(CTPROF_MAX_ENTITY_ROWS, 4096);

NUMBER(CTPROF_THREAD, 0);
NUMBER(CTPROF_PROCESS, 1);
NUMBER(CTPROF_CGROUP, 2);
NUMBER(CTPROF_HOST, 3);
NUMBER(CTPROF_ENTITY_OF_SOURCE, 4);

NUMBER(CTPROF_U64, 0);
NUMBER(CTPROF_I64, 1);
NUMBER(CTPROF_F64, 2);
NUMBER(CTPROF_BOOL, 3);
NUMBER(CTPROF_STRING, 4);
NUMBER(CTPROF_BITSET, 5);
NUMBER(CTPROF_MAP, 6);
NUMBER(CTPROF_ARRAY, 7);
NUMBER(CTPROF_STACKS, 8);
NUMBER(CTPROF_HISTOGRAM_BUCKETS, 96);

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
NUMBER(CTPROF_STAGE_ENTITY_LIST, 7);
NUMBER(CTPROF_STAGE_ENTITY, 8);

NUMBER(CTPROF_METRIC_HIDDEN, 1);
NUMBER(CTPROF_METRIC_MARK, 2);
NUMBER(CTPROF_METRIC_SETTING, 4);
NUMBER(CTPROF_METRIC_COSTLY, 8);
NUMBER(CTPROF_METRIC_OF_WINDOW, 16);

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
NUMBER(CTPROF_USER_FRAMES, 3);
NUMBER(CTPROF_FRAME_TABLE_SHIFT, 40);
static_assert(CTPROF_FRAME_ADDRESS == 0x8000000000000000 &&
              CTPROF_FRAME_GUESSED == 0x4000000000000000);
NUMBER(CTPROF_TABLE_OF_VDSO, 1);
NUMBER(CTPROF_UNWIND_NONE, 0);
NUMBER(CTPROF_UNWIND_UNKNOWN, 1);
NUMBER(CTPROF_UNWIND_ROOT, 2);
NUMBER(CTPROF_UNWIND_SP, 3);
NUMBER(CTPROF_UNWIND_BP, 4);
NUMBER(CTPROF_UNWIND_AT_SP, 5);
NUMBER(CTPROF_UNWIND_AT_BP, 6);
NUMBER(CTPROF_UNWIND_SIGNAL, 7);
NUMBER(CTPROF_UNWIND_SAME, 0);
NUMBER(CTPROF_UNWIND_AT_CFA, 1);
NUMBER(CTPROF_UNWIND_SAVED_AT_SP, 2);
NUMBER(CTPROF_UNWIND_SAVED_AT_BP, 3);
NUMBER(CTPROF_RECORD_CUT, 1);
NUMBER(CTPROF_RECORD_NO_USER, 2);
NUMBER(CTPROF_RECORD_GUESSED, 4);
NUMBER(CTPROF_RECORD_AGAIN, 8);
NUMBER(CTPROF_RECORD_REST, 16);
NUMBER(CTPROF_RECORD_UNSEEN, 32);
NUMBER(CTPROF_RECORD_OF_WINDOW, 64);
NUMBER(CTPROF_WINDOW_ONCE, 1);
NUMBER(CTPROF_WINDOW_EVERY_STACK, 2);
NUMBER(CTPROF_WINDOW_ALL_WAITS, 4);
NUMBER(CTPROF_WINDOW_INHERIT, 8);
NUMBER(CTPROF_WINDOW_TABLES, 16);
NUMBER(CTPROF_CHANGE_MAPPED, 0);
NUMBER(CTPROF_CHANGE_EXECED, 1);
NUMBER(CTPROF_CHANGE_FORKED, 2);
NUMBER(CTPROF_CHANGE_ENDED, 3);
NUMBER(CTPROF_CHANGE_REMAPPED, 4);
NUMBER(CTPROF_LOSS_FULL, 0);
NUMBER(CTPROF_LOSS_THROTTLED, 1);
NUMBER(CTPROF_LOSS_OFFLINE, 2);

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
NUMBER(CTPROF_PLUGIN_AHEAD, 4);
NUMBER(CTPROF_PLUGIN_RECORDER, 8);

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
