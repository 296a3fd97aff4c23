/* Its derived metric adds time to a count. */
#define EXPRESSION METRIC " + run_time_ns"
#include "sound_plugin.h"
