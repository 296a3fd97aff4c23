// All sources of core/redact, compiled as one unit.

#include "core/redact/pseudonyms.cc"
#include "core/redact/redact.cc"
