// All sources of tools/ctprof/inputs, which are compiled as one.

#include "tools/ctprof/inputs/capture_arguments.cc"
#include "tools/ctprof/inputs/capture_reader.cc"
#include "tools/ctprof/inputs/compared_runs.cc"
#include "tools/ctprof/inputs/default_names.cc"
#include "tools/ctprof/inputs/deferred_runs.cc"
#include "tools/ctprof/inputs/loaded_arguments.cc"
#include "tools/ctprof/inputs/sides.cc"
#include "tools/ctprof/inputs/span_blocks.cc"
