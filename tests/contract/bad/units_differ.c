/* Bytes under a rule for nanoseconds. */
#define NEWTYPE "Bytes"
#define RULE "SumNs"
#include "sound_plugin.h"
