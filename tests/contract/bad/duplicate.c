/* Takes the name of a plugin of ours. */
#define PLUGIN_NAME "procfs-sched"
#include "sound_plugin.h"
