// What it means that a file is missing.
//
// On a live host it went away with its thread: probing has settled what the kernel lacks. In a
// recorded tree threads neither come nor go, and what is missing there was not recorded.

#pragma once

#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"

namespace ctprof::procfs {

inline Gap of_tree(const sdk::Host& host, Gap gap) {
  return gap == Gap::ThreadGone && !host.live() ? Gap::Unsupported : gap;
}

}  // namespace ctprof::procfs
