// Reads the `gaps` of a line, which state why its nulls have no value (see table_line.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_scanner.hpp"
#include "ctprof/abi.h"

namespace ctprof::columns {

// A group of columns whose nulls have the same reasons.
struct GapPattern {
  std::vector<std::string> columns;
  std::vector<std::uint64_t> runs;  // pairs of a code and the number of nulls with that code

  // Replaces each null among a column's cells by its reason, in order. Returns an empty text on
  // success. If the runs do not match the number of nulls, returns the end of a message: "fewer
  // than its nulls" or "more than its nulls".
  std::string_view replace_nulls(std::span<ctprof_gap> cells) const;
};

// Reads one pattern of a line with `rows` rows. Each run covers at least one row, which limits the
// number of runs.
GapPattern read_gap_pattern(Scanner& in, std::size_t rows);

}  // namespace ctprof::columns
