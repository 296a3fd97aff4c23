/* A source of the list stage. It offers the required columns at a rank above the core's own, and
 * one more metric. The build selects its fault: LIST is list_and_fail or list_too_many.
 */
#include <stddef.h>
#include <string.h>

#include "ctprof/abi.h"

static inline int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                                   size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}
static inline void close_nothing(void* worker) { (void)worker; }

enum { COMM = 3 }; /* its index in the offers */

/* Fills rows with threads that exist on no host. */
static inline void fill_rows(struct ctprof_batch* batch, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row) {
    for (int offer = 0; offer < 5; ++offer)
      if (offer != COMM && batch->cells[offer].values) {
        ((uint64_t*)batch->cells[offer].values)[row] = 4000000 + row;
        batch->cells[offer].gaps[row] = CTPROF_VALUE;
      }
    batch->put_text(batch->core, COMM, row, "phantom", 7);
  }
}

/* Lists some threads, and then fails. */
__attribute__((unused)) static int32_t list_and_fail(void* worker, struct ctprof_listing* listing) {
  (void)worker;
  struct ctprof_batch* batch = listing->room(listing->core);
  if (batch) {
    fill_rows(batch, 10);
    listing->commit(listing->core, 10);
  }
  strncpy(listing->message, "lost count", listing->message_size - 1);
  return 1;
}

/* Commits more rows than the buffer has. */
__attribute__((unused)) static int32_t list_too_many(void* worker, struct ctprof_listing* listing) {
  (void)worker;
  struct ctprof_batch* batch = listing->room(listing->core);
  if (!batch) return 0;
  fill_rows(batch, batch->rows);
  listing->commit(listing->core, CTPROF_MAX_ROWS + 1);
  return 0;
}

/* clang-format off */
#define KEY(what, kind, how, measure) { \
  .size = sizeof(struct ctprof_metric), .storage = how, .name = what, .newtype = kind, .rule = "Key", .unit = measure}
static const struct ctprof_metric kTgid = KEY("tgid", "IdU32", CTPROF_U64, "none"), kTid = KEY("tid", "IdU32", CTPROF_U64, "none");
static const struct ctprof_metric kStart = KEY("start_time_clock_ticks", "IdU64", CTPROF_U64, "ticks");
static const struct ctprof_metric kComm = KEY("comm", "IdText", CTPROF_STRING, "text");
static const struct ctprof_metric kValue = {
  .size = sizeof(struct ctprof_metric), .storage = CTPROF_U64, .name = NAME "_value", .newtype = "MonotonicCount", .rule = "SumCount",
  .description = "For tests."};
static const struct ctprof_offer kOffers[] = {{&kTgid, 90, 0}, {&kTid, 90, 0}, {&kStart, 90, 0}, {&kComm, 90, 0}, {&kValue, 90, 0}};
static const struct ctprof_source kSources[] = {{
  .size = sizeof(struct ctprof_source), .stage = CTPROF_STAGE_LIST, .name = NAME, .offers = CTPROF_ARRAY_OF(kOffers),
  .open_worker = open_nothing, .list = LIST, .close_worker = close_nothing}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof ctprof_plugin, .name = NAME, .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources)};
/* clang-format on */
