/* Two sources, each of which reads what the other fills. */
#include "ctprof/abi.h"

static int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                            size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}
static void close_nothing(void* worker) { (void)worker; }
static int32_t collect_nothing(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  batch->rows_done = batch->rows;
  return 0;
}

/* clang-format off */
#define METRIC(what) { \
  .size = sizeof(struct ctprof_metric), .storage = CTPROF_U64, .name = what, .newtype = "GaugeCount", .rule = "MaxGaugeCount"}
static const struct ctprof_metric kFirstMetric = METRIC(NAME "_hen"), kSecondMetric = METRIC(NAME "_egg");
static const struct ctprof_offer kFirstOffers[] = {{.metric = &kFirstMetric}}, kSecondOffers[] = {{.metric = &kSecondMetric}};
static const char* const kFirstReads[] = {NAME "_egg"};
static const char* const kSecondReads[] = {NAME "_hen"};

#define SOURCE(what, offered, read) { \
  .size = sizeof(struct ctprof_source), .stage = CTPROF_STAGE_THREAD, .name = what, .offers = CTPROF_ARRAY_OF(offered), \
  .reads = CTPROF_ARRAY_OF(read), .open_worker = open_nothing, .collect = collect_nothing, .close_worker = close_nothing}
static const struct ctprof_source kSources[] = {SOURCE("hen", kFirstOffers, kFirstReads), SOURCE("egg", kSecondOffers, kSecondReads)};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof ctprof_plugin, .name = NAME, .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources)};
/* clang-format on */
