/* A library that is closed while somebody records. */
#define _GNU_SOURCE
#include "shares.h"

void twenty(uint64_t ns) { SPEND(ns); }
