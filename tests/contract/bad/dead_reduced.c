/* A dead counter under a live rule. */
#define NEWTYPE "DeadCounter"
#define RULE "SumCount"
#include "sound_plugin.h"
