/* An output plugin that was built before the structs of ctprof/output.h grew. It writes a line for
 * each value: the first label of the group, the metric, the key and the number.
 */
#include <inttypes.h>
#include <stdio.h>

#include "output_v1.h"

static const struct ctprof_output_core* g_core;

static int32_t open_output(const struct ctprof_output_core* core, void** state, char* message,
                           size_t message_size) {
  (void)state, (void)message, (void)message_size;
  g_core = core;
  return 0;
}

static int32_t put_row(const struct ctprof_output_table* table,
                       const struct ctprof_output_row* row) {
  for (uint32_t m = 0; m < table->metrics.count; ++m) {
    const struct ctprof_output_metric* metric =
        CTPROF_ITEM(struct ctprof_output_metric, table->metrics, m);
    const struct ctprof_output_cell* cell = CTPROF_ITEM(struct ctprof_output_cell, row->cells, m);
    const struct ctprof_text* label = CTPROF_ITEM(struct ctprof_text, row->labels, 0);
    char line[256];
    const int size = snprintf(line, sizeof line, "%.*s;%s;%s;%" PRIu64 "\n", (int)label->size,
                              label->data, metric->name, metric->key, cell->number.u64);
    if (g_core->write(g_core->core, line, (size_t)size) != 0) return -1;
  }
  return 0;
}

static int32_t put(void* state, const struct ctprof_output_window* window, char* message,
                   size_t message_size) {
  (void)state, (void)message, (void)message_size;
  const struct ctprof_output_table* table =
      CTPROF_ITEM(struct ctprof_output_table, window->tables, 0);
  for (uint32_t r = 0; r < table->rows.count; ++r)
    if (put_row(table, CTPROF_ITEM(struct ctprof_output_row, table->rows, r)) != 0) return -1;
  return 0;
}

CTPROF_EXPORT const struct ctprof_output ctprof_output = {.abi = CTPROF_OUTPUT_ABI,
                                                          .size = sizeof(struct ctprof_output),
                                                          .name = "frozen_output",
                                                          .version = "1",
                                                          .description = "Built earlier.",
                                                          .open = open_output,
                                                          .put = put};
