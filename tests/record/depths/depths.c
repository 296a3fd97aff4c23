/* A plugin of a third party that has only a rule for stacks: the mean number of functions of a
 * stack, weighted. */
#include "ctprof/abi.h"

struct depths {
  double functions, weight;
};

static void add_stacks(struct depths* depths, const struct ctprof_rows* rows, uint32_t id) {
  size_t count = 0;
  const struct ctprof_stack* stacks = rows->stacks(rows->core, id, &count);
  for (size_t i = 0; i < count; ++i) {
    size_t functions = 0;
    rows->frames(rows->core, stacks[i].stack, &functions);
    depths->functions += (double)functions * (double)stacks[i].weight;
    depths->weight += (double)stacks[i].weight;
  }
}

static void add(void* states, const struct ctprof_rows* rows) {
  const uint32_t* ids = rows->values;
  for (uint64_t row = 0; row < rows->count; ++row)
    if (rows->groups[row] != UINT32_MAX && (!rows->gaps || rows->gaps[row] == CTPROF_VALUE))
      add_stacks((struct depths*)states + rows->groups[row], rows, ids[row]);
}

static void merge(void* into, const void* from) {
  ((struct depths*)into)->functions += ((const struct depths*)from)->functions;
  ((struct depths*)into)->weight += ((const struct depths*)from)->weight;
}

static struct ctprof_number number(const void* state) {
  const struct depths* depths = state;
  if (depths->weight == 0) return (struct ctprof_number){.kind = CTPROF_NUMBER_NONE};
  return (struct ctprof_number){.kind = CTPROF_NUMBER_F64,
                                .f64 = depths->functions / depths->weight};
}

static const struct ctprof_rule kRules[] = {{.size = sizeof kRules[0],
                                             .state_size = sizeof(struct depths),
                                             .name = "depths_Mean",
                                             .fallback = "StackSum",
                                             .newtypes = "StackNs",
                                             .description = "Functions of a stack, on average.",
                                             .add = add,
                                             .merge = merge,
                                             .number = number}};

const struct ctprof_plugin ctprof_plugin = {.abi = CTPROF_ABI,
                                            .size = sizeof ctprof_plugin,
                                            .name = "depths",
                                            .version = "1.0",
                                            .description = "How deep stacks are.",
                                            .rules = CTPROF_ARRAY_OF(kRules)};
