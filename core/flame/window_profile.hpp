// The stacks of a window as a profile: those of each thread, under the names that are asked for.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/flame/stack_profile.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// What stands above the frames.
enum class OwnersBy : std::uint8_t {
  Thread,      // its process's name, then its own
  ThreadName,  // its own name alone
  Process,     // its process's name and id
  Cgroup,
  All,  // nothing
};

// "pcomm", "comm", "pid", "cgroup", "all"; an error names these.
Result<OwnersBy> owners_by(std::string_view key);

// For each thread, whether its stacks are wanted; empty: all are.
using WantedThreads = std::vector<bool>;

// All metrics of stacks, in the file's order, or those of these names. A metric in ns has a period
// if all weights are multiples of one that a recorder can have sampled by, or if the file has the
// number of its samples: the mean of these. It points to the window,
// which must outlive it. Fails where the window has none, or lacks one of them.
Result<StackProfile> window_profile(const Snapshot& window, std::span<const std::string> metrics,
                                    OwnersBy by, const WantedThreads& wanted = {});

}  // namespace ctprof
