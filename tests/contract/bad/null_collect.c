/* NULL where a function must be. */
#define COLLECT NULL
#include "sound_plugin.h"
