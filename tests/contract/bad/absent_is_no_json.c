/* Stands for no value with something that is not JSON. */
#define FILE_ABSENT "{]"
#include "sound_plugin.h"
