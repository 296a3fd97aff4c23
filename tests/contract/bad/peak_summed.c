/* A peak under a sum. */
#define NEWTYPE "PeakNs"
#define RULE "SumNs"
#include "sound_plugin.h"
