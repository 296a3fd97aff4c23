/* A correct plugin: its metric is a sum under a rule of its own, which declares this reduction.
 */
#include "ctprof/abi.h"

static void add(void* states, const struct ctprof_rows* rows) {
  const uint64_t* values = rows->values;
  for (uint64_t row = 0; row < rows->count; ++row)
    if (rows->groups[row] != UINT32_MAX && (!rows->gaps || rows->gaps[row] == CTPROF_VALUE))
      ((uint64_t*)states)[rows->groups[row]] += values[row];
}
static void merge(void* into, const void* from) { *(uint64_t*)into += *(const uint64_t*)from; }
static struct ctprof_number number(const void* state) {
  return (struct ctprof_number){.kind = CTPROF_NUMBER_U64, .u64 = *(const uint64_t*)state};
}

/* clang-format off */
static const struct ctprof_rule kRules[] = {{
  .size = sizeof(struct ctprof_rule), .state_size = sizeof(uint64_t), .name = "adds_up_total", .fallback = "MaxGaugeCount", .newtypes = "GaugeCount",
  .description = "Adds up.", .add = add, .merge = merge, .number = number, .reduction = CTPROF_REDUCES_BY_SUM}};
/* clang-format on */

#define RULE "adds_up_total"
#define RULES CTPROF_ARRAY_OF(kRules)
#include "sound_plugin.h"
