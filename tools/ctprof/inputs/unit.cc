// All sources of tools/ctprof/inputs, which are compiled as one.

#include "tools/ctprof/inputs/captures.cc"
#include "tools/ctprof/inputs/chosen_names.cc"
#include "tools/ctprof/inputs/compared_runs.cc"
#include "tools/ctprof/inputs/given.cc"
#include "tools/ctprof/inputs/late_runs.cc"
#include "tools/ctprof/inputs/loaded.cc"
#include "tools/ctprof/inputs/sides.cc"
#include "tools/ctprof/inputs/span_blocks.cc"
