/* Gives a name of ours another meaning. */
#define METRIC "run_time_ns"
#define NEWTYPE "MonotonicCount"
#define RULE "SumCount"
#include "sound_plugin.h"
