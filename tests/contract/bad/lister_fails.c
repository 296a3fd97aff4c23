/* Lists some threads, and then gives up. */
#include "lister.h"

static int32_t list(void* worker, struct ctprof_listing* listing) {
  (void)worker;
  struct ctprof_batch* batch = listing->room(listing->core);
  if (batch) {
    fill_rows(batch, 10);
    listing->commit(listing->core, 10);
  }
  strncpy(listing->message, "lost count", listing->message_size - 1);
  return 1;
}
