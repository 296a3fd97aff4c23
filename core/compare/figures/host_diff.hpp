// How the hosts of two runs differ: kernel, command line, tunables, CPU, memory.
//
// A run keeps its host's context as a piece of JSON; members are compared by their dotted
// names.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compare/figures/run_facts.hpp"

namespace ctprof {

struct HostDifference {
  std::string key;
  std::optional<std::string> baseline;  // as JSON; none: the context has no such member
  std::optional<std::string> candidate;
};

// In the order of their keys; none where either file has no context to compare.
std::optional<std::vector<HostDifference>> host_differences(const RunFacts& baseline,
                                                            const RunFacts& candidate);

}  // namespace ctprof
