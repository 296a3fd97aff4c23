// Compiles all sources of core/flame as one translation unit.

#include "core/flame/flame_evidence.cc"
#include "core/flame/flame_page.cc"
#include "core/flame/flame_tree.cc"
#include "core/flame/folded.cc"
#include "core/flame/perfetto.cc"
#include "core/flame/pprof.cc"
#include "core/flame/speedscope.cc"
#include "core/flame/stack_formats.cc"
#include "core/flame/stack_profile.cc"
#include "core/flame/window_profile.cc"
