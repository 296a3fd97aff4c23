/* Nothing is wrong with this one. */
#include "sound_plugin.h"
