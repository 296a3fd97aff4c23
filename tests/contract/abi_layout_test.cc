// The layout of ABI version 1: every offset and size.
//
// Old plugins rely on every line here. A line never changes and is never removed. A new field at
// the end of a struct gets a line of its own, and increases the struct's SIZE. Any other change
// requires a new ABI number.
//
// Offsets and sizes are checked at compile time, for 64-bit machines (x86-64 and aarch64);
// abi_numbers_test.cc checks signatures and numbers. contract_test.py tests the behaviour with
// frozen.c, a plugin of version 1.

#include <cstddef>

#include "ctprof/abi.h"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes) && alignof(type) == 8)
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset))
static_assert(sizeof(void*) == 8, "the offsets below are those of 64-bit machines");

// The structs: their sizes, and the offsets of their fields.
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

SIZE(ctprof_metric, 200);
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
AT(ctprof_metric, labels, 192);

SIZE(ctprof_headline, 32);
AT(ctprof_headline, size, 0);
AT(ctprof_headline, order, 4);
AT(ctprof_headline, label, 8);
AT(ctprof_headline, shown, 16);
AT(ctprof_headline, flags, 20);
AT(ctprof_headline, floor, 24);

SIZE(ctprof_derived, 112);
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
AT(ctprof_derived, finding, 104);
SIZE(ctprof_finding, 32);
AT(ctprof_finding, size, 0);
AT(ctprof_finding, next, 4);
AT(ctprof_finding, at_least, 8);
AT(ctprof_finding, weight, 16);
AT(ctprof_finding, statement, 24);

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

SIZE(ctprof_source, 168);
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
AT(ctprof_source, window_ends, 144);
AT(ctprof_source, window_opens, 152);
AT(ctprof_source, entity, 160);

SIZE(ctprof_window, 112);
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
AT(ctprof_window, command, 64);
AT(ctprof_window, user_kind, 72);
AT(ctprof_window, reserved, 76);
AT(ctprof_window, ring_bytes, 80);
AT(ctprof_window, passes_hz, 88);
AT(ctprof_window, flags, 92);
AT(ctprof_window, offers, 96);
AT(ctprof_window, offers_count, 104);
AT(ctprof_window, reserved2, 108);

SIZE(ctprof_record, 136);
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
AT(ctprof_record, at_ns, 120);
AT(ctprof_record, element, 128);
AT(ctprof_record, reserved, 132);

SIZE(ctprof_change, 104);
AT(ctprof_change, size, 0);
AT(ctprof_change, kind, 4);
AT(ctprof_change, tgid, 8);
AT(ctprof_change, at_ns, 16);
AT(ctprof_change, parent, 24);
AT(ctprof_change, start, 32);
AT(ctprof_change, length, 40);
AT(ctprof_change, offset, 48);
AT(ctprof_change, device_major, 56);
AT(ctprof_change, device_minor, 60);
AT(ctprof_change, inode, 64);
AT(ctprof_change, path, 72);
AT(ctprof_change, build_id, 88);

SIZE(ctprof_loss, 40);
AT(ctprof_loss, size, 0);
AT(ctprof_loss, kind, 4);
AT(ctprof_loss, cpu, 8);
AT(ctprof_loss, reserved, 12);
AT(ctprof_loss, from_ns, 16);
AT(ctprof_loss, until_ns, 24);
AT(ctprof_loss, count, 32);

SIZE(ctprof_records, 104);
AT(ctprof_records, size, 0);
AT(ctprof_records, reserved, 4);
AT(ctprof_records, core, 8);
AT(ctprof_records, put, 16);
AT(ctprof_records, message, 24);
AT(ctprof_records, message_size, 32);
AT(ctprof_records, context, 40);
AT(ctprof_records, lost, 48);
AT(ctprof_records, unseen, 56);
AT(ctprof_records, change, 64);
AT(ctprof_records, lose, 72);
AT(ctprof_records, cpu_ns, 80);
AT(ctprof_records, want_table, 88);
AT(ctprof_records, next_table, 96);

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

int main() { return 0; }
