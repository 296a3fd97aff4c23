/* Wants to stand in the file where a table stands. */
#define FILE_PATH "threads"
#include "sound_plugin.h"
