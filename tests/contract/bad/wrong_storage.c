/* Says that it stores a number as text. */
#define STORAGE CTPROF_STRING
#include "sound_plugin.h"
