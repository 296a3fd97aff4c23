// Unity build of core/window: compiles all its sources as one unit.

#include "core/window/accounting.cc"
#include "core/window/complete_ended.cc"
#include "core/window/descendants.cc"
#include "core/window/happened.cc"
#include "core/window/host_load.cc"
#include "core/window/infer_take_overs.cc"
#include "core/window/laps.cc"
#include "core/window/make_window.cc"
#include "core/window/merge_ended.cc"
#include "core/window/opening_only.cc"
#include "core/window/same_rows.cc"
