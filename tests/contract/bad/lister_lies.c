/* Says that it filled more rows than there was room for. */
#include "lister.h"

static int32_t list(void* worker, struct ctprof_listing* listing) {
  (void)worker;
  struct ctprof_batch* batch = listing->room(listing->core);
  if (!batch) return 0;
  fill_rows(batch, batch->rows);
  listing->commit(listing->core, CTPROF_MAX_ROWS + 1);
  return 0;
}
