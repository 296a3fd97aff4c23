/* Linked with a directory to look for libraries in that anybody may write to; see meson.build. */
#include "sound_plugin.h"
