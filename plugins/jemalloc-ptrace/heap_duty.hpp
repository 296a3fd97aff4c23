// The helper's side of reading heaps: what it does for each request on the board.
//
// What is here:   looking for jemalloc, reading counters, naming mounts, all of which may hang.
// What is not:    who asks, and what becomes of a helper that hangs: heap_helper.hpp.

#pragma once

#include "plugins/jemalloc-ptrace/heap_board.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::jemalloc {

// For HelperProcess; the area is a Board.
HelperProcess::Serve begin_heap_duty(const HelperView& view);

}  // namespace ctprof::jemalloc
