// All sources of tools/ctprof/cli, which are compiled as one.

#include "tools/ctprof/cli/command_table.cc"
#include "tools/ctprof/cli/completion.cc"
#include "tools/ctprof/cli/config.cc"
#include "tools/ctprof/cli/help.cc"
#include "tools/ctprof/cli/main.cc"
#include "tools/ctprof/cli/manual.cc"
