/* Counts in a tally that it never had. */
#define COLLECT collect
#include "ctprof/abi.h"

static int32_t collect(void* worker, struct ctprof_batch* batch);
#include "sound_plugin.h"

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  batch->tally(batch->core, 5, 1);
  return collect_tids(worker, batch);
}
