/* A plugin of the first days, built against the ABI as it was then (abi.h beside this file, never to be changed). It uses every part of
 * it, and must load and work for ever. All its values follow from a thread's id, so that a test can tell what must be in a file. */
#include "abi.h"

#include <stdio.h>

enum { kNumber, kSigned, kText, kFlag, kSet, kMap, kOdd };
enum { kRows };

/* clang-format off */
#define METRIC(label, kind, how, stored) { \
  .size = sizeof(struct ctprof_metric), .entity = CTPROF_THREAD, .storage = stored, .name = label, .newtype = kind, .rule = how, \
  .description = "Follows from the thread's id."}
static const struct ctprof_metric kMetrics[] = {
  [kNumber] = METRIC("frozen_number", "GaugeCount", "frozen_total", CTPROF_U64),
  [kSigned] = METRIC("frozen_signed", "OrdinalI32", "RangeI32", CTPROF_I64),
  [kText] = METRIC("frozen_text", "CategoricalString", "Mode", CTPROF_STRING),
  [kFlag] = METRIC("frozen_flag", "Flag", "ModeBool", CTPROF_BOOL),
  [kSet] = METRIC("frozen_set", "CpuSet", "Affinity", CTPROF_BITSET),
  [kMap] = METRIC("frozen_map", "CountMap", "MapSum", CTPROF_MAP),
  [kOdd] = METRIC("frozen_odd", "MonotonicCount", "SumCount", CTPROF_U64)};
/* clang-format on */

/* ---- the rule: a sum, under a name that ctprof does not have ------------------------------------------------------- */
static void add(void* states, const struct ctprof_rows* rows) {
  uint64_t* totals = states;
  const uint64_t* values = rows->values;
  for (uint64_t i = 0; i < rows->count; ++i)
    if (rows->groups[i] != UINT32_MAX && (!rows->gaps || rows->gaps[i] == CTPROF_VALUE)) totals[rows->groups[i]] += values[i];
}
static void merge(void* into, const void* from) { *(uint64_t*)into += *(const uint64_t*)from; }
static struct ctprof_number number(const void* state) {
  struct ctprof_number total = {.kind = CTPROF_NUMBER_U64};
  total.u64 = *(const uint64_t*)state;
  return total;
}

/* ---- the source --------------------------------------------------------------------------------------------------- */
static void probe(const struct ctprof_host* host, const struct ctprof_probe* answer) {
  if (host->proc_fd < 0) answer->refuse(answer->core, kNumber, CTPROF_UNSUPPORTED, "no /proc", 8);
}
static int32_t open_worker(const struct ctprof_host* host, void** worker, char* message, size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}
static void close_worker(void* worker) { (void)worker; }

static void put_all(struct ctprof_batch* batch, uint32_t row, uint64_t tid) {
  char text[32];
  const int length = snprintf(text, sizeof text, "thread %llu", (unsigned long long)tid);
  const uint64_t bits = 5; /* CPUs 0 and 2 */
  const struct ctprof_entry entries[] = {{{"tid", 3}, tid}, {{"one", 3}, 1}};
  batch->put_text(batch->core, kText, row, text, (size_t)length);
  batch->put_bits(batch->core, kSet, row, &bits, 1);
  batch->put_map(batch->core, kMap, row, entries, 2);
}

static void fill(struct ctprof_batch* batch, uint32_t row, uint64_t tid) {
  const struct ctprof_cells* cells = batch->cells;
  if (cells[kNumber].values) ((uint64_t*)cells[kNumber].values)[row] = tid;
  if (cells[kSigned].values) ((int64_t*)cells[kSigned].values)[row] = -(int64_t)tid;
  if (cells[kFlag].values) ((uint8_t*)cells[kFlag].values)[row] = tid % 2;
  if (cells[kOdd].values) ((uint64_t*)cells[kOdd].values)[row] = tid;
  put_all(batch, row, tid);
  for (int offer = 0; offer <= kOdd; ++offer)
    if (cells[offer].gaps) cells[offer].gaps[row] = CTPROF_VALUE;
  if (cells[kOdd].gaps && tid % 2 == 0) cells[kOdd].gaps[row] = CTPROF_NOT_APPLICABLE;
}

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  const uint64_t* tids = batch->inputs[0].values;
  for (uint32_t row = 0; row < batch->rows; ++row) fill(batch, row, tids[row]);
  batch->tally(batch->core, kRows, batch->rows);
  batch->rows_done = batch->rows;
  return 0;
}

static void summarise(const struct ctprof_summary* summary) {
  summary->put_u64(summary->core, "rows", summary->tallies[kRows]);
  summary->put_bool(summary->core, "inner.listed", summary->rows_listed >= summary->tallies[kRows]);
  summary->put_text(summary->core, "inner.nothing", NULL, 0);
}

/* ---- the tables --------------------------------------------------------------------------------------------------- */
/* clang-format off */
static const struct ctprof_offer kOffers[] = {
  {&kMetrics[kNumber], 0, 0}, {&kMetrics[kSigned], 0, 0}, {&kMetrics[kText], 0, 0}, {&kMetrics[kFlag], 0, 0},
  {&kMetrics[kSet], 0, 0}, {&kMetrics[kMap], 0, 0}, {&kMetrics[kOdd], 0, 0}};
static const char* const kReads[] = {"tid", "frozen_absent?"};
static const char* const kObjects[] = {"frozen_summary"};
static const struct ctprof_source kSources[] = {{
  .size = sizeof(struct ctprof_source), .stage = CTPROF_STAGE_THREAD, .name = "frozen", .offers = CTPROF_ARRAY_OF(kOffers),
  .reads = CTPROF_ARRAY_OF(kReads), .tallies_count = 1, .summary_key = "frozen_summary", .probe = probe,
  .open_worker = open_worker, .collect = collect, .close_worker = close_worker, .summarise = summarise}};
static const struct ctprof_derived kDerived[] = {{
  .size = sizeof(struct ctprof_derived), .entity = CTPROF_THREAD, .name = "frozen_odd_part",
  .expression = "frozen_odd / frozen_number", .unit = "ratio", .description = "What part of all ids is odd."}};
static const struct ctprof_rule kRules[] = {{
  .size = sizeof(struct ctprof_rule), .state_size = sizeof(uint64_t), .name = "frozen_total", .fallback = "SumGaugeCount",
  .newtypes = "GaugeCount", .add = add, .merge = merge, .number = number}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = "frozen", .version = "1.0",
  .description = "Built against the first ABI.", .sources = CTPROF_ARRAY_OF(kSources), .derived = CTPROF_ARRAY_OF(kDerived),
  .rules = CTPROF_ARRAY_OF(kRules), .objects = CTPROF_ARRAY_OF(kObjects)};
/* clang-format on */
