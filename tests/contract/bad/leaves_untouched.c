/* Says that it did all rows, and did none. */
#define COLLECT collect
#include "ctprof/abi.h"

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  batch->rows_done = batch->rows;
  return 0;
}
#include "sound_plugin.h"
