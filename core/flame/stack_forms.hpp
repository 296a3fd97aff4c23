// Stacks in the formats of other people's tools.
//
// All values of a profile are written where the format has room for several. Names are text that is
// safe to print (render/terminal_text.hpp), those of more than 1,024 bytes without their middle.
//
// To add a format: a file with its function, and a line in the table of stack_forms.cc.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/flame/stack_profile.hpp"

namespace ctprof {

struct StackForm {
  std::string_view name;  // as people ask for it
  std::string_view what;  // who reads it
  std::string_view mark;  // is among the first bytes of such a file; empty: nothing is
  // An error is the sink's.
  Result<void> (*write)(const StackProfile& profile, Sink& out);
};

std::span<const StackForm> stack_forms();

// The first value alone, a line for each stack: "process;thread;main;read;vfs_read_[k] 250000000".
// Blanks and semicolons in names are replaced.
Result<void> write_folded(const StackProfile& profile, Sink& out);
// profile.proto, packed by gzip. Whose stacks they are is in labels. Values that were sampled have
// their number of samples beside them, and the first of them the period.
Result<void> write_pprof(const StackProfile& profile, Sink& out);
// A profile for each value; processes and threads are the outermost frames.
Result<void> write_speedscope(const StackProfile& profile, Sink& out);
// StackSample packets, which have weights. A profile has no time of a sample, so samples are spread
// evenly over the window, on CLOCK_BOOTTIME. A process or thread without a number gets one that no
// kernel gives.
Result<void> write_perfetto(const StackProfile& profile, Sink& out);

// --- what their writers share

// The frames of a stack, leaf first. Of one that no recorder can have seen, for it is deeper than
// 1,024 frames, those nearest to the leaf, and then [truncated].
std::vector<std::uint32_t> frames_of(const StackTable& table, std::uint64_t stack);

// One stack of an owner, with all of its weights.
struct StackWeights {
  std::uint64_t stack = 0;
  std::vector<std::uint64_t> weights;  // by value; 0: none
};

// Ascending by stack, each once.
std::vector<StackWeights> rows_of(const OwnedStacks& owned);

}  // namespace ctprof
