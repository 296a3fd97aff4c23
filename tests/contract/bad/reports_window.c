/* A recorder that records nothing and reports the parameters of its window as its remark.
 */
#include "ctprof/abi.h"

#include <stdio.h>

static char window_parameters[512];

static int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                            size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}

static void close_nothing(void* worker) { (void)worker; }

static int32_t start(void* worker, const struct ctprof_window* window, char* message,
                     size_t message_size) {
  (void)worker, (void)message, (void)message_size;
  snprintf(window_parameters, sizeof window_parameters,
           "window: pids %u, first %llu; cgroups %u; freq %u; passes %u; period %llu; budget %llu; "
           "depth %u; user %u; stack %llu; ring %llu; flags %u",
           window->pids_count, window->pids_count > 0 ? (unsigned long long)window->pids[0] : 0,
           window->cgroups_count, window->frequency_hz, window->passes_hz,
           (unsigned long long)window->period_ns, (unsigned long long)window->budget_ppm,
           window->depth, window->user_kind, (unsigned long long)window->stack_bytes,
           (unsigned long long)window->ring_bytes, window->flags);
  return CTPROF_DONE;
}

static int32_t drain(void* worker, struct ctprof_records* records) {
  (void)worker;
  snprintf(records->message, records->message_size, "%s", window_parameters);
  return CTPROF_DONE;
}

static int32_t stop(void* worker, char* message, size_t message_size) {
  (void)worker, (void)message, (void)message_size;
  return CTPROF_DONE;
}

/* clang-format off */
static const struct ctprof_metric kStacks = {
  .size = sizeof kStacks, .storage = CTPROF_STACKS, .name = "reports_window_stacks", .newtype = "StackCount", .rule = "StackSum"};
static const struct ctprof_offer kOffers[] = {{.metric = &kStacks}};
static const struct ctprof_source kSources[] = {
  {.size = sizeof kSources[0], .stage = CTPROF_STAGE_RECORD, .name = "window", .offers = CTPROF_ARRAY_OF(kOffers),
   .open_worker = open_nothing, .close_worker = close_nothing, .start = start, .drain_records = drain, .stop = stop}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = "reports_window", .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources)};
/* clang-format on */
