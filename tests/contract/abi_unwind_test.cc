// The layout of the structs of unwind tables, as abi_layout_test.cc checks all others.

#include <cstddef>

#include "ctprof/abi.h"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes) && alignof(type) == 8)
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset))

SIZE(ctprof_unwind_table, 64);
AT(ctprof_unwind_table, size, 0);
AT(ctprof_unwind_table, number, 4);
AT(ctprof_unwind_table, request, 8);
AT(ctprof_unwind_table, first_page, 16);
AT(ctprof_unwind_table, pages, 24);
AT(ctprof_unwind_table, rows, 32);
AT(ctprof_unwind_table, rules, 40);
AT(ctprof_unwind_table, pages_count, 48);
AT(ctprof_unwind_table, rows_count, 52);
AT(ctprof_unwind_table, rules_count, 56);
AT(ctprof_unwind_table, reserved, 60);

SIZE(ctprof_table_request, 104);
AT(ctprof_table_request, size, 0);
AT(ctprof_table_request, flags, 4);
AT(ctprof_table_request, request, 8);
AT(ctprof_table_request, tgid, 16);
AT(ctprof_table_request, start, 24);
AT(ctprof_table_request, length, 32);
AT(ctprof_table_request, offset, 40);
AT(ctprof_table_request, device_major, 48);
AT(ctprof_table_request, device_minor, 52);
AT(ctprof_table_request, inode, 56);
AT(ctprof_table_request, file_size, 64);
AT(ctprof_table_request, changed_s, 72);
AT(ctprof_table_request, changed_ns, 80);
AT(ctprof_table_request, reserved, 84);
AT(ctprof_table_request, path, 88);

// Structs that BPF programs read.
#define PACKED(type, bytes) static_assert(sizeof(type) == (bytes))
PACKED(ctprof_unwind_rule, 8);
AT(ctprof_unwind_rule, kind, 0);
AT(ctprof_unwind_rule, bp, 1);
AT(ctprof_unwind_rule, bp_offset, 2);
AT(ctprof_unwind_rule, cfa_offset, 4);
PACKED(ctprof_unwind_row, 4);
AT(ctprof_unwind_row, place, 0);
AT(ctprof_unwind_row, rule, 2);
PACKED(ctprof_unwind_page, 8);
AT(ctprof_unwind_page, first_row, 0);
AT(ctprof_unwind_page, rows_count, 4);

int main() {}
