// Sides that are spans of consecutive windows, with runs: each span is split into blocks, and each
// block becomes a run (core/archive/blocks.hpp).
//
// What is here:   which sides are split, reading the windows, what people are told of it.
// What is not:    how long a block is (core/archive/blocks.hpp).

#pragma once

#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/loaded.hpp"

namespace ctprof::cli {

// Whether one file holds them all, each opened where the one before it ended.
bool are_back_to_back(const LoadedSide& side);

// Reads two or more sides that are each one span of a directory of `record --every`, in blocks.
// None if a side is something else, or if there are too few windows; a note reports that.
Result<std::optional<std::vector<LoadedSide>>> load_blocks(
    const std::vector<std::vector<Given>>& sides, const Vocabulary& vocabulary,
    const Options& options);

// The same of two or more sides that were read and are each one file of consecutive windows. A side
// with too few of them becomes one window; the rest stays as it is.
Result<void> split_into_blocks(std::vector<LoadedSide>& sides, const Options& options);

}  // namespace ctprof::cli
