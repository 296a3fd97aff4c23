// All sources of core/archive, compiled as one unit.

#include "core/archive/archive.cc"
#include "core/archive/blocks.cc"
#include "core/archive/directory.cc"
#include "core/archive/hour_writer.cc"
#include "core/archive/index.cc"
#include "core/archive/rotation.cc"
#include "core/archive/span.cc"
#include "core/archive/time_text.cc"
