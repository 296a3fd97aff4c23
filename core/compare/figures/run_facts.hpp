// What is known of a run beside its figures: who captured it, when and where; and how the hosts of
// two runs differ.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A copy, which outlives the snapshot.
struct RunFacts {
  Meta meta;
  std::optional<RawJson> host;  // the host's context, if the file has one
  std::size_t text_bytes = 0;   // of the file that it was read from; 0 if from none
  std::array<std::size_t, kEntities> rows{};

  std::size_t threads() const { return rows[static_cast<std::size_t>(Entity::Thread)]; }
  std::size_t processes() const { return rows[static_cast<std::size_t>(Entity::Process)]; }
};

RunFacts facts_of(const Snapshot& snapshot);

// A member of the hosts' contexts (kernel, command line, tunables, CPU, memory) by its dotted name.
struct HostDifference {
  std::string key;
  std::optional<std::string> baseline;  // as JSON; none if the context lacks it
  std::optional<std::string> candidate;
};

// In the order of their keys; none if either file has no context.
std::optional<std::vector<HostDifference>> host_differences(const RunFacts& baseline,
                                                            const RunFacts& candidate);

}  // namespace ctprof
