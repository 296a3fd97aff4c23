// The layout of ctprof/output.h: output plugins that were built earlier depend on each offset. The
// list grows at the ends of the structs and never changes otherwise.

#include <cstddef>

#include "ctprof/output.h"

namespace {

#define AT(type, member, offset) \
  static_assert(offsetof(type, member) == (offset), #type "." #member)

static_assert(CTPROF_OUTPUT_ABI == 1);
static_assert(CTPROF_OUTPUT_INCREASE == 1 && CTPROF_OUTPUT_PER_SECOND == 2);
static_assert(CTPROF_OUTPUT_SNAPSHOT == 1);

AT(ctprof_output_metric, size, 0);
AT(ctprof_output_metric, flags, 4);
AT(ctprof_output_metric, name, 8);
AT(ctprof_output_metric, key, 16);
AT(ctprof_output_metric, unit, 24);
AT(ctprof_output_metric, family, 32);
AT(ctprof_output_metric, entity, 40);
AT(ctprof_output_metric, key_labels, 48);
static_assert(sizeof(ctprof_output_metric) == 64);

AT(ctprof_output_label, name, 0);
AT(ctprof_output_label, value, 8);
static_assert(sizeof(ctprof_output_label) == 24);

AT(ctprof_output_cell, number, 0);
AT(ctprof_output_cell, values, 16);
AT(ctprof_output_cell, rows, 24);

AT(ctprof_output_row, size, 0);
AT(ctprof_output_row, labels, 8);
AT(ctprof_output_row, cells, 24);

AT(ctprof_output_table, size, 0);
AT(ctprof_output_table, label_names, 8);
AT(ctprof_output_table, metrics, 24);
AT(ctprof_output_table, rows, 40);

AT(ctprof_output_window, size, 0);
AT(ctprof_output_window, flags, 4);
AT(ctprof_output_window, start_ns, 8);
AT(ctprof_output_window, end_ns, 16);
AT(ctprof_output_window, length_ns, 24);
AT(ctprof_output_window, dropped_before, 32);
AT(ctprof_output_window, omitted_rows, 40);
AT(ctprof_output_window, user_hz, 48);
AT(ctprof_output_window, host, 56);
AT(ctprof_output_window, producer, 64);
AT(ctprof_output_window, tables, 72);

AT(ctprof_output_core, size, 0);
AT(ctprof_output_core, settings, 8);
AT(ctprof_output_core, core, 24);
AT(ctprof_output_core, write, 32);

AT(ctprof_output, abi, 0);
AT(ctprof_output, size, 4);
AT(ctprof_output, name, 8);
AT(ctprof_output, version, 16);
AT(ctprof_output, description, 24);
AT(ctprof_output, options, 32);
AT(ctprof_output, open, 48);
AT(ctprof_output, put, 56);
AT(ctprof_output, close, 64);
AT(ctprof_output, signature, 72);
AT(ctprof_output, thread_metrics, 80);
static_assert(sizeof(ctprof_output) == 96);

}  // namespace

int main() {}
