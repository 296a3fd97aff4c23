/* Its derived metric is no expression. */
#define EXPRESSION METRIC " +"
#include "sound_plugin.h"
