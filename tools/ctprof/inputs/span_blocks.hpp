// Sides that are spans of consecutive windows: each is split into blocks, and each block becomes a
// run (core/archive/blocks.hpp).
//
// Contents: which sides are split, reading their windows, and the remarks about it.
// See also: how long a block is (core/archive/blocks.hpp).

#pragma once

#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/inputs/loaded.hpp"

namespace ctprof::cli {

// Whether the side's files hold windows, and some follow one another within their file. Windows are
// not independent then, whatever gaps are between others.
bool has_consecutive_windows(const LoadedSide& side);
// Whether the side is one file of several windows without a gap.
bool is_one_span(const LoadedSide& side);

// Whether two or more sides are compared, and one of them is a span of a directory of `record
// --every`.
bool compares_spans(const std::vector<std::vector<Given>>& sides);

// Reads such sides in blocks. None if they cannot be tested: then a note reports why, or one of
// them is something else. REQUIRES: compares_spans().
Result<std::optional<std::vector<LoadedSide>>> load_blocks(
    const std::vector<std::vector<Given>>& sides, const Vocabulary& vocabulary,
    const Options& options);

// Splits two or more sides that were read and have consecutive windows. If they cannot be tested, a
// note reports why, and the windows without a gap between them become one run each.
Result<void> split_into_blocks(std::vector<LoadedSide>& sides, const Options& options);

// Marks all runs as parts of spans that cannot be tested.
void mark_untested(std::vector<LoadedSide>& sides);

}  // namespace ctprof::cli
