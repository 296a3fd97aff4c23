/* Says that it did one row less than it was given. */
#define COLLECT collect
#include "ctprof/abi.h"

static int32_t collect(void* worker, struct ctprof_batch* batch);
#include "sound_plugin.h"

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  collect_tids(worker, batch);
  batch->rows_done = batch->rows - 1;
  return 0;
}
