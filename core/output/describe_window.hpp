// The members of an output window besides its tables.

#pragma once

#include <cstdint>
#include <optional>

#include "core/output/output_window.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// `length_ns`: of a window; none: a snapshot.
void describe_window(const Meta& meta, std::optional<std::uint64_t> length_ns,
                     OutputWindow& window);

}  // namespace ctprof
