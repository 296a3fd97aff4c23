// Runs of two conditions in turns: `record --interleave 'CMD_A' 'CMD_B' --repeat N`.
//
// A pair is a run of each, in an order that chance decides. So whatever else changes with time
// befalls both alike, and the two of a pair can be exchanged: that is what makes a comparison of
// pairs true. Before each run its side's command sets its condition.
//
// Not here: recording a run (record.cc).

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Whether the second side (b) has the first turn in the pair: a bit of chance that follows from
// the recording's seed, and that no two pairs share.
bool second_goes_first(std::uint64_t seed, std::uint64_t pair);

// Records one run with these options, which name the file's place and the pair.
using RecordRun = std::function<Result<void>(const Options& options)>;

// Records options.repeat pairs into DIR/a and DIR/b. The first command that cannot be run, or does
// not end well, stops it; so does an interrupt: the runs until then stay. REQUIRES: two commands,
// and interrupts were taken.
Result<void> interleave(const Options& options, const RecordRun& record);

}  // namespace ctprof::cli
