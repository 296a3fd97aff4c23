/* Speaks an ABI that is still to come. */
#define ABI (CTPROF_ABI + 1)
#include "sound_plugin.h"
