// Splits sides that are spans of consecutive windows into blocks. Each block becomes a run
// (core/archive/blocks.hpp).
//
// Contents: which sides are split, how their windows are read, and the notes about the split.
// See also: the length of a block (core/archive/blocks.hpp).

#pragma once

#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/inputs/loaded_arguments.hpp"

namespace ctprof::cli {

// Whether the side's files hold windows of which some follow one another within their file. Such
// windows are not independent, even if others are separated by gaps.
bool has_consecutive_windows(const LoadedSide& side);
// Whether the side is one file of several windows without a gap.
bool is_one_span(const LoadedSide& side);

// Whether two or more sides are compared and at least one of them is a span of a `record --every`
// directory.
bool compares_spans(const std::vector<std::vector<CaptureArgument>>& sides);

// Reads such sides in blocks. Returns none if they cannot be tested: a note reports why, or one of
// the sides is not a span. REQUIRES: compares_spans().
Result<std::optional<std::vector<LoadedSide>>> load_blocks(
    const std::vector<std::vector<CaptureArgument>>& sides, const Vocabulary& vocabulary,
    const CommonOptions& options);

// Splits two or more loaded sides that have consecutive windows. If they cannot be tested, a note
// reports why, and windows without a gap between them become one run each.
Result<void> split_into_blocks(std::vector<LoadedSide>& sides, const CommonOptions& options);

// Marks all runs as parts of spans that cannot be tested.
void mark_untested(std::vector<LoadedSide>& sides);

}  // namespace ctprof::cli
