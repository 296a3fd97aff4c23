// Makes a profile from the stacks of a window, grouped by a selected key.

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

// The names above the frames.
enum class OwnerKey : std::uint8_t {
  Thread,      // process name, then thread name
  ThreadName,  // only the thread name
  Process,     // process name and id
  Cgroup,
  All,  // no name
};

// Parses "pcomm", "comm", "pid", "cgroup" or "all"; an error lists these.
Result<OwnerKey> parse_owner_key(std::string_view key);

// By thread: whether its stacks are selected; empty: all are.
using SelectedThreads = std::vector<bool>;

// Makes a profile of the named metrics of stacks, or of all in file order. A metric in ns has a
// period if all weights are multiples of a possible sampling period; otherwise, if the file has the
// number of its samples, the period is the mean weight of a sample. The profile points to the
// window, which must outlive it. Fails if the window has no stacks or lacks one of the metrics.
Result<StackProfile> make_window_profile(const Snapshot& window,
                                         std::span<const std::string> metrics, OwnerKey key,
                                         const SelectedThreads& selected = {});

}  // namespace ctprof
