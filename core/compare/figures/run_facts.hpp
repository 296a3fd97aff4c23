// What there is to know of a run beside its figures: who made it, when and where. It is owned, and
// outlives the snapshot.

#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct RunFacts {
  Meta meta;
  std::optional<RawJson> host;  // its context, where the file has one
  std::size_t text_bytes = 0;   // of the file it was read from; 0: of none
  std::array<std::size_t, kEntities> rows{};

  std::size_t threads() const { return rows[static_cast<std::size_t>(Entity::Thread)]; }
  std::size_t processes() const { return rows[static_cast<std::size_t>(Entity::Process)]; }
};

RunFacts facts_of(const Snapshot& snapshot);

}  // namespace ctprof
