/* It needs a function that nobody has. */
#include <stdint.h>

struct ctprof_batch;
int32_t function_of_nobody(void* worker, struct ctprof_batch* batch);
#define COLLECT function_of_nobody
#include "sound_plugin.h"
