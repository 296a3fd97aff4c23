/* An output plugin whose table is wrong in the part that FAULT selects. */
#include "ctprof/output.h"

#ifdef FAULT_PUT
#define PUT 0
#else
#define PUT put
static int32_t put(void* state, const struct ctprof_output_window* window, char* message,
                   size_t message_size) {
  (void)state, (void)window, (void)message, (void)message_size;
  return 0;
}
#endif

CTPROF_EXPORT const struct ctprof_output ctprof_output = {
#ifdef FAULT_ABI
    .abi = CTPROF_OUTPUT_ABI + 1,
#else
    .abi = CTPROF_OUTPUT_ABI,
#endif
#ifdef FAULT_SIZE
    .size = 8,
#else
    .size = sizeof(struct ctprof_output),
#endif
#ifdef FAULT_NAME
    .name = "other",
#else
    .name = NAME,
#endif
    .version = "1",
    .put = PUT,
};
