/* States a table that ends before its name. */
#define PLUGIN_SIZE 8
#include "sound_plugin.h"
