/* A library that is closed during a recording. */
#define _GNU_SOURCE
#include "shares.h"

void twenty(uint64_t ns) { SPEND(ns); }
