// Unity build of core/window: compiles all its sources as one unit.

#include "core/window/accounting.cc"
#include "core/window/blocked_time.cc"
#include "core/window/complete_exited_threads.cc"
#include "core/window/descendants.cc"
#include "core/window/differences.cc"
#include "core/window/host_load.cc"
#include "core/window/infer_execs.cc"
#include "core/window/join_windows.cc"
#include "core/window/make_window.cc"
#include "core/window/match_rows.cc"
#include "core/window/merge_exited_threads.cc"
#include "core/window/opening_only_rows.cc"
