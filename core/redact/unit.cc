// All sources of core/redact, which are compiled as one.

#include "core/redact/pseudonyms.cc"
#include "core/redact/redact.cc"
