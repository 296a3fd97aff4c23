// Completes the rows of threads that ended, where their source lacks something that other rows
// have.
//
// See also: make_window.hpp (makes windows), infer_take_overs.hpp.

#pragma once

#include <cstddef>

#include "core/window/make_window.hpp"

namespace ctprof {

// Gives threads their exact start times, and their process, its name and their cgroup. Where the
// source has no cgroups (it knows starts only roughly), a thread that was never listed has the
// cgroup of its process, or else of the nearest ancestor process that was listed; processes inherit
// it. Process 1 passes nothing on: it starts services in cgroups of their own. Returns how many
// threads have their cgroup from an ancestor.
std::size_t complete_ended(const Snapshot& before, const Snapshot& after, Ended& ended);

}  // namespace ctprof
