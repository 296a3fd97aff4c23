/* A plugin with an entity, whose name is that of the plugin: two rows, each with a number that
 * identifies it, and two values. The first source lists the rows and fills one value; the second
 * source fills the other. The macros that meson.build defines cause one fault each.
 */
#include <string.h>

#include "ctprof/abi.h"

#ifndef ENTITY_NAME
#define ENTITY_NAME NAME
#endif
#ifndef ENTITY_SIZE
#define ENTITY_SIZE sizeof(struct ctprof_entity_type)
#endif
#ifndef ENTITY
#define ENTITY &kEntity
#endif
#ifndef ROWS
#define ROWS 2u
#endif
#ifndef DEVICE_OF_ROW
#define DEVICE_OF_ROW(row) (row)
#endif
#ifndef HAS_IDENTITY
#define HAS_IDENTITY(row) 1
#endif
#ifndef FAMILY
#define FAMILY NULL
#endif
#ifndef LIST_STAGE
#define LIST_STAGE CTPROF_STAGE_ENTITY_LIST
#endif
#ifndef SECOND_STAGE
#define SECOND_STAGE CTPROF_STAGE_ENTITY
#endif
#ifndef SECOND_OFFERS
#define SECOND_OFFERS kCollected
#endif
#ifndef COLLECT
#define COLLECT NULL
#endif
#ifndef STATUS
#define STATUS 0
#endif

static int32_t open_nothing(const struct ctprof_host* host, void** worker, char* message,
                            size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  return 0;
}
static void close_nothing(void* worker) { (void)worker; }

static void put(struct ctprof_batch* batch, uint32_t offer, uint32_t row, uint64_t value) {
  if (!batch->cells[offer].values) return;
  ((uint64_t*)batch->cells[offer].values)[row] = value;
  batch->cells[offer].gaps[row] = CTPROF_VALUE;
}

static int32_t list(void* worker, struct ctprof_listing* listing) {
  (void)worker;
  for (uint32_t listed = 0; listed < ROWS;) {
    struct ctprof_batch* batch = listing->room(listing->core);
    if (!batch) return 0;
    uint32_t rows = 0;
    for (; rows < batch->rows && listed < ROWS; ++rows, ++listed) {
      if (HAS_IDENTITY(listed))
        put(batch, 0, rows, DEVICE_OF_ROW(listed));
      else
        batch->cells[0].gaps[rows] = CTPROF_DENIED;
      put(batch, 1, rows, 100 + listed);
    }
    listing->commit(listing->core, rows);
  }
  if (STATUS) strncpy(listing->message, "the device is on fire", listing->message_size - 1);
  return STATUS;
}

__attribute__((unused)) static int32_t collect(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  const uint64_t* devices = batch->inputs[0].values;
  for (uint32_t row = 0; row < batch->rows; ++row) put(batch, 0, row, 7 + devices[row]);
  batch->rows_done = batch->rows;
  return 0;
}

/* clang-format off */
static const struct ctprof_metric kDevice = {
  .size = sizeof kDevice, .entity = CTPROF_ENTITY_OF_SOURCE, .storage = CTPROF_U64, .name = NAME "_device", .newtype = "IdU64", .rule = "Key",
  .family = FAMILY, .description = "For tests."};
static const struct ctprof_metric kValue = {
  .size = sizeof kValue, .entity = CTPROF_ENTITY_OF_SOURCE, .storage = CTPROF_U64, .name = NAME "_value", .newtype = "MonotonicCount", .rule = "SumCount",
  .description = "For tests."};
static const struct ctprof_metric kOther = {
  .size = sizeof kOther, .entity = CTPROF_ENTITY_OF_SOURCE, .storage = CTPROF_U64, .name = NAME "_other", .newtype = "GaugeCount", .rule = "MaxGaugeCount",
  .description = "For tests."};
static const struct ctprof_offer kListed[] = {{&kDevice, 0, 0}, {&kValue, 0, 0}};
__attribute__((unused)) static const struct ctprof_offer kCollected[] = {{&kOther, 0, 0}};
static const char* const kReads[] = {NAME "_device"};
static const struct ctprof_derived kDerived[] = {{
  .size = sizeof kDerived[0], .entity = CTPROF_ENTITY_OF_SOURCE, .name = NAME "_sum", .expression = NAME "_value + " NAME "_value", .unit = "count"}};
__attribute__((unused)) static const struct ctprof_entity_type kEntity = {
  .size = ENTITY_SIZE, .name = ENTITY_NAME, .description = "A row for tests.", .derived = CTPROF_ARRAY_OF(kDerived)};
static const struct ctprof_source kSources[] = {
  {.size = sizeof(struct ctprof_source), .stage = LIST_STAGE, .name = "rows", .offers = CTPROF_ARRAY_OF(kListed),
   .open_worker = open_nothing, .list = list, .collect = COLLECT, .close_worker = close_nothing, .entity = ENTITY},
  {.size = sizeof(struct ctprof_source), .stage = SECOND_STAGE, .name = "values", .offers = CTPROF_ARRAY_OF(SECOND_OFFERS),
   .reads = CTPROF_ARRAY_OF(kReads), .open_worker = open_nothing, .list = list, .collect = collect, .close_worker = close_nothing, .entity = ENTITY}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof ctprof_plugin, .name = NAME, .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources)};
/* clang-format on */
