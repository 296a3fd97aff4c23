/* Items of an array that are smaller than one. */
#define OFFER_SIZE 4
#include "sound_plugin.h"
