/* A recorder that delivers two stacks: a correct one, and one that states a size for its kernel
 * part, which is NULL.
 */
#include "ctprof/abi.h"

static int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                            size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}

static void close_nothing(void* worker) { (void)worker; }

static int32_t start(void* worker, const struct ctprof_window* window, char* message,
                     size_t message_size) {
  (void)worker, (void)window, (void)message, (void)message_size;
  return CTPROF_DONE;
}

static int32_t drain(void* worker, struct ctprof_records* records) {
  (void)worker;
  struct ctprof_record record = {.size = sizeof record, .tgid = 1, .tid = 1, .weight = 1};
  records->put(records->core, &record);
  record.kernel_count = 100;
  records->put(records->core, &record);
  return CTPROF_DONE;
}

static int32_t stop(void* worker, char* message, size_t message_size) {
  (void)worker, (void)message, (void)message_size;
  return CTPROF_DONE;
}

/* clang-format off */
static const struct ctprof_metric kStacks = {
  .size = sizeof kStacks, .storage = CTPROF_STACKS, .name = "inconsistent_record_stacks", .newtype = "StackCount", .rule = "StackSum"};
static const struct ctprof_offer kOffers[] = {{.metric = &kStacks}};
static const struct ctprof_source kSources[] = {
  {.size = sizeof kSources[0], .stage = CTPROF_STAGE_RECORD, .name = "lies", .offers = CTPROF_ARRAY_OF(kOffers),
   .open_worker = open_nothing, .close_worker = close_nothing, .start = start, .drain_records = drain, .stop = stop}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = "inconsistent_record", .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources)};
/* clang-format on */
