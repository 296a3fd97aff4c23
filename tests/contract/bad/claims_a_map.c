/* Says that cells hold maps, and never puts one. */
#define COLLECT collect
#define NEWTYPE "CountMap"
#define RULE "MapSum"
#define STORAGE CTPROF_MAP
#include "ctprof/abi.h"

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  (void)worker;
  for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row)
    batch->cells[0].gaps[row] = CTPROF_VALUE;
  batch->rows_done = batch->rows;
  return 0;
}
#include "sound_plugin.h"
