// Records runs of two conditions alternately: `record --interleave 'CMD_A' 'CMD_B' --repeat N`.
//
// A pair is one run of each condition, in random order. Other influences that change with time
// therefore affect both conditions equally, and the two runs of a pair are exchangeable, which
// makes the comparison of pairs valid. Before each run, the command of its side establishes its
// condition.
//
// See also: record.cc (records a run).

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.hpp"
#include "tools/ctprof/commands/record_options.hpp"

namespace ctprof::cli {

// Whether the second side (b) goes first in the pair: a pseudo-random bit that depends only on the
// recording's seed and the pair's number.
bool starts_with_second(std::uint64_t seed, std::uint64_t pair);

// Records one run. The options name the output and the pair.
using RecordRun = std::function<Result<void>(const RecordCommandOptions& options)>;

// Records options.repeat pairs into DIR/a and DIR/b. Stops at the first command that cannot be run
// or fails, and when interrupted; finished runs are kept. REQUIRES: two commands;
// install_interrupt_handlers() was called.
Result<void> record_interleaved(const RecordCommandOptions& options, const RecordRun& record);

}  // namespace ctprof::cli
