// All sources of tools/ctprof/fleet, compiled as one translation unit.

#include "tools/ctprof/fleet/capture_line.cc"
#include "tools/ctprof/fleet/fleet.cc"
#include "tools/ctprof/fleet/input_lines.cc"
#include "tools/ctprof/fleet/judge.cc"
#include "tools/ctprof/fleet/match.cc"
#include "tools/ctprof/fleet/parse.cc"
#include "tools/ctprof/fleet/read.cc"
#include "tools/ctprof/fleet/significance.cc"
#include "tools/ctprof/fleet/subcommand_table.cc"
#include "tools/ctprof/fleet/time.cc"
