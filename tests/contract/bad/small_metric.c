/* A metric that ends before its name. */
#define METRIC_SIZE 16
#include "sound_plugin.h"
