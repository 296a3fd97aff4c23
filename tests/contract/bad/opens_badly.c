/* Cannot make a context for its worker. */
#define OPEN_WORKER open_worker
#include <string.h>

#include "ctprof/abi.h"

static int32_t open_worker(const struct ctprof_host* host, void** worker, char* message,
                           size_t message_size) {
  (void)host, (void)worker;
  strncpy(message, "the device is on fire", message_size - 1);
  return 1;
}
#include "sound_plugin.h"
