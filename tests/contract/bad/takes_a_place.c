/* Wants to stand in the file where another metric stands. */
#define FILE_PATH "threads[].run_time_ns"
#include "sound_plugin.h"
