/* Offers a metric of ctprof's own by a higher rank. */
#define METRIC "run_time_ns"
#define NEWTYPE "MonotonicNs"
#define RULE "SumNs"
#define RANK 1000
#include "sound_plugin.h"
