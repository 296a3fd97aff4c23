/* Opens files until there is no descriptor left, and keeps them. */
#define OPEN_WORKER open_worker
#include <fcntl.h>

#include "ctprof/abi.h"

static int32_t open_worker(const struct ctprof_host* host, void** worker, char* message,
                           size_t message_size) {
  (void)host, (void)worker, (void)message, (void)message_size;
  while (open("/dev/null", O_RDONLY) >= 0) continue;
  return 0;
}
#include "sound_plugin.h"
