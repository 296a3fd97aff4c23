/* States a table larger than the symbol that holds it. */
#define PLUGIN_SIZE 4096
#include "sound_plugin.h"
