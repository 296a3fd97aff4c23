// All sources of tools/ctprof/plugin, compiled as one translation unit.

#include "tools/ctprof/plugin/check.cc"
#include "tools/ctprof/plugin/check_child.cc"
#include "tools/ctprof/plugin/child_processes.cc"
#include "tools/ctprof/plugin/new.cc"
#include "tools/ctprof/plugin/plugin.cc"
#include "tools/ctprof/plugin/process_use.cc"
#include "tools/ctprof/plugin/rust_scaffold.cc"
#include "tools/ctprof/plugin/scaffold.cc"
#include "tools/ctprof/plugin/value_checks.cc"
