/* Wants its summary to stand where the threads do. */
#define SUMMARY_KEY "threads"
#include "sound_plugin.h"
