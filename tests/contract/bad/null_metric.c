/* Offers a metric that is NULL. */
#define OFFERED NULL
#include "sound_plugin.h"
