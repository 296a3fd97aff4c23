// Declares the export formats of stacks.
//
// A format that supports several values contains all values of a profile. Names are made safe to
// print (render/terminal_text.hpp); those of more than 1,024 bytes are shortened in the middle.
//
// To add a format: add a file with its function, and a line in the table of stack_formats.cc.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/flame/stack_profile.hpp"

namespace ctprof {

struct StackFormat {
  std::string_view name;     // the name that users type
  std::string_view readers;  // the tools that read it
  std::string_view magic;    // among the first bytes of such a file; empty: no mark
  // Fails only if the sink fails.
  Result<void> (*write)(const StackProfile& profile, Sink& out);
};

std::span<const StackFormat> get_stack_formats();

// Writes the first value only, a line for each stack: "process;thread;main;read;vfs_read_[k]
// 250000000". Blanks and semicolons in names are replaced.
Result<void> write_folded(const StackProfile& profile, Sink& out);
// Writes profile.proto, compressed with gzip. Labels contain the owners of stacks. A sampled value
// is followed by its number of samples; the first such value sets the period.
Result<void> write_pprof(const StackProfile& profile, Sink& out);
// Writes a profile for each value; processes and threads are the outermost frames.
Result<void> write_speedscope(const StackProfile& profile, Sink& out);
// Writes StackSample packets, which have weights. A profile has no time per sample, so samples are
// spread evenly over the window, on CLOCK_BOOTTIME. A process or thread without an id gets one that
// the kernel does not assign.
Result<void> write_perfetto(const StackProfile& profile, Sink& out);

// --- shared by the writers

// Returns the frames of a stack, leaf first. A stack with more than 1,024 frames, which no recorder
// takes, has the frames nearest to the leaf and [truncated].
std::vector<std::uint32_t> get_frames(const StackTable& table, std::uint64_t stack);

// One stack of an owner, with all of its weights.
struct StackWeights {
  std::uint64_t stack = 0;
  std::vector<std::uint64_t> weights;  // by value; 0: none
};

// Returns the stacks of an owner, ascending, each once.
std::vector<StackWeights> collect_rows(const OwnedStacks& owned);

}  // namespace ctprof
