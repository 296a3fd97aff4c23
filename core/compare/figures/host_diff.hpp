// How the hosts of two snapshots differ: kernel, command line, tunables, CPU, memory.
//
// A snapshot keeps its host's context as a piece of JSON; members are compared by their dotted
// names.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct HostDifference {
  std::string key;
  std::optional<std::string> baseline;  // as JSON; none: the context has no such member
  std::optional<std::string> candidate;
};

// In the order of their keys; none where either file has no context to compare.
std::optional<std::vector<HostDifference>> host_differences(const Snapshot& baseline,
                                                            const Snapshot& candidate);

}  // namespace ctprof
