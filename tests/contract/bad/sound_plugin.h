/* A correct plugin with one source, one metric, NAME_value, which is each thread's id, and one
 * derived metric, NAME_derived.
 *
 * meson.build, or the file that includes this one, defines some of the macros below and thereby
 * causes one fault. The plugin `sound` defines none of them and shows that the rest is correct. The
 * build defines NAME, the name of the module.
 */
#include "ctprof/abi.h"

#ifndef ABI
#define ABI CTPROF_ABI
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(struct ctprof_plugin)
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME NAME
#endif
#ifndef METRIC_SIZE
#define METRIC_SIZE sizeof(struct ctprof_metric)
#endif
#ifndef METRIC
#define METRIC NAME "_value"
#endif
#ifndef NEWTYPE
#define NEWTYPE "GaugeCount"
#endif
#ifndef RULE
#define RULE "MaxGaugeCount"
#endif
#ifndef RULES
#define RULES \
  { 0 }
#endif
#ifndef STORAGE
#define STORAGE CTPROF_U64
#endif
#ifndef ENTITY
#define ENTITY CTPROF_THREAD
#endif
#ifndef STAGE
#define STAGE CTPROF_STAGE_THREAD
#endif
#ifndef READS
#define READS "tid"
#endif
#ifndef FILE_PATH
#define FILE_PATH NULL
#endif
#ifndef FILE_ABSENT
#define FILE_ABSENT NULL
#endif
#ifndef LABELS
#define LABELS NULL
#endif
#ifndef OFFERED
#define OFFERED &kMetric
#endif
#ifndef OFFER_SIZE
#define OFFER_SIZE sizeof(struct ctprof_offer)
#endif
#ifndef RANK
#define RANK 0
#endif
#ifndef SUMMARY_KEY
#define SUMMARY_KEY NULL
#endif
#ifndef EXPRESSION
#define EXPRESSION METRIC " / " METRIC
#endif
#ifndef OPEN_WORKER
#define OPEN_WORKER open_nothing
#endif
#ifndef COLLECT
#define COLLECT collect_tids
#endif

static inline int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                                   size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}

static inline void close_nothing(void* worker) { (void)worker; }

static inline void fill_tids(struct ctprof_batch* batch, uint32_t rows) {
  const uint64_t* tids = batch->inputs[0].values;
  uint64_t* values = batch->cells[0].values;
  for (uint32_t row = 0; values && row < rows; ++row) {
    values[row] = tids[row];
    batch->cells[0].gaps[row] = CTPROF_VALUE;
  }
}

static inline int32_t collect_tids(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  fill_tids(batch, batch->rows);
  batch->rows_done = batch->rows;
  return 0;
}

static inline void summarise(const struct ctprof_summary* summary) {
  summary->put_u64(summary->core, "listed", summary->rows_listed);
}

/* clang-format off */
__attribute__((unused)) static const struct ctprof_metric kMetric = {
  .size = METRIC_SIZE, .storage = STORAGE, .name = METRIC, .entity = ENTITY, .newtype = NEWTYPE, .rule = RULE, .description = "The thread's id.",
  .file_path = FILE_PATH, .file_absent = FILE_ABSENT, .labels = LABELS};

static const struct ctprof_offer kOffers[] = {{.metric = OFFERED, .rank = RANK}};
static const char* const kReads[] = {READS};
static const struct ctprof_source kSources[] = {{
  .size = sizeof kSources[0], .stage = STAGE, .name = NAME, .offers = {kOffers, 1, OFFER_SIZE},
  .reads = CTPROF_ARRAY_OF(kReads), .summary_key = SUMMARY_KEY, .open_worker = OPEN_WORKER, .collect = COLLECT,
  .close_worker = close_nothing, .summarise = summarise}};
static const struct ctprof_derived kDerived[] = {{
  .size = sizeof kDerived[0], .name = NAME "_derived", .expression = EXPRESSION, .unit = "ratio"}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = ABI, .size = PLUGIN_SIZE, .name = PLUGIN_NAME, .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources), .derived = CTPROF_ARRAY_OF(kDerived), .rules = RULES};
/* clang-format on */
