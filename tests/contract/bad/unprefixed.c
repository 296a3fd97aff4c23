/* A third party's name without the plugin's in front. */
#define METRIC "value"
#include "sound_plugin.h"
