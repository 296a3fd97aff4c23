// Why nulls of a line are null: what a reader makes of `gaps`, whose form table_line.hpp shows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/layout/scanner.hpp"
#include "ctprof/abi.h"

namespace ctprof::columns {

// The same reasons for the nulls of all these columns.
struct GapPattern {
  std::vector<std::string> columns;
  std::vector<std::uint64_t> runs;  // pairs of a code, and how many nulls have it

  // Gives the nulls among a column's cells their reasons, in order. Returns how many nulls the runs
  // are of, in words that end a sentence, "fewer than its nulls"; nothing where all is well.
  std::string_view explain(std::span<ctprof_gap> cells) const;
};

// Of a line with so many rows. A run has at least one of them, so that what it asks for is bounded.
GapPattern read_gap_pattern(Scanner& in, std::size_t rows);

}  // namespace ctprof::columns
