/* A plugin for a newer ctprof. In addition to a source that every version supports, it has sources
 * of unknown stages and metrics of unknown storages.
 */
#include "ctprof/abi.h"

static int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                            size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}

static void close_nothing(void* worker) { (void)worker; }

/* The first offer is the unsupported one, so it cannot be requested. */
static int32_t collect(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  const uint64_t* tids = batch->inputs[0].values;
  uint64_t* values = batch->cells[1].values;
  if (batch->cells[0].gaps) return 1;
  for (uint32_t row = 0; values && row < batch->rows; ++row) {
    values[row] = tids[row];
    batch->cells[1].gaps[row] = CTPROF_VALUE;
  }
  batch->rows_done = batch->rows;
  return 0;
}

/* clang-format off */
static const struct ctprof_metric kUnsupportedMetric = {
  .size = sizeof kUnsupportedMetric, .storage = 76, .name = "newer_abi_parts_odd", .newtype = "Odd", .rule = "OddSum"};
static const struct ctprof_metric kValue = {
  .size = sizeof kValue, .storage = CTPROF_U64, .name = "newer_abi_parts_value", .newtype = "GaugeCount", .rule = "MaxGaugeCount",
  .description = "The thread's id."};
static const struct ctprof_offer kOffers[] = {{.metric = &kUnsupportedMetric}, {.metric = &kValue}};
static const struct ctprof_offer kUnsupportedOffers[] = {{.metric = &kUnsupportedMetric}};
static const char* const kReads[] = {"tid"};
static const struct ctprof_source kSources[] = {
  {.size = sizeof kSources[0], .stage = 98, .name = "odd", .offers = CTPROF_ARRAY_OF(kUnsupportedOffers)},
  {.size = sizeof kSources[0], .stage = CTPROF_STAGE_THREAD, .name = "newer_abi_parts", .offers = CTPROF_ARRAY_OF(kOffers),
   .reads = CTPROF_ARRAY_OF(kReads), .open_worker = open_nothing, .collect = collect, .close_worker = close_nothing},
  {.size = sizeof kSources[0], .stage = 99, .name = "oddest"}};
static const struct ctprof_metric kDeclared[] = {
  {.size = sizeof kDeclared[0], .storage = 77, .name = "newer_abi_parts_oddest", .newtype = "Oddest", .rule = "Key"}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = "newer_abi_parts", .version = "2.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources), .metrics = CTPROF_ARRAY_OF(kDeclared)};
/* clang-format on */
