/* A category under a numeric rule. */
#define NEWTYPE "CategoricalString"
#define RULE "SumCount"
#define STORAGE CTPROF_STRING
#include "sound_plugin.h"
