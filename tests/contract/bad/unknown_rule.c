/* A rule that neither ctprof nor this plugin has. */
#define RULE "unknown_rule_mean"
#include "sound_plugin.h"
