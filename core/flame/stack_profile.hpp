// What is drawn and exported: stacks with their weights, whose they are, and what the weights are.
//
// Whoever has metrics of storage `stacks` makes one of these: a file's reader, a report. It owns
// nothing but names: the table and the weights stay where they are, and must outlive it.
//
// Names are as the system gave them, so hostile: whoever writes them makes them safe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/stack_table.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Whose stacks these are. What is not known, or differs within, is empty or 0.
struct StackOwner {
  std::string process{};
  std::string thread{};
  std::string cgroup{};
  std::uint64_t pid = 0;
  std::uint64_t tid = 0;
};

// A metric whose value is a weighted set of stacks.
struct StackValue {
  std::string name;      // "oncpu_stacks"
  std::string unit;      // of its weights: "ns", "bytes", "count"
  bool waiting = false;  // at these stacks threads did not run
  // How many ns one sample stands for, in the mean; 0: the weights are not those of samples.
  std::uint64_t period_ns = 0;
  // The weight from which on a stack of a thread that waits rarely is idle; none: no stack is.
  std::optional<double> long_wait_ns{};
};

struct OwnedStacks {
  StackOwner owner;
  // One for each of the profile's values; empty where there is none. REQUIRES: nodes of its table.
  std::vector<std::span<const ctprof_stack>> weights;
  bool waits_rarely = false;  // LongWaits::waits_rarely()
};

// The window that the stacks are of. 0: unknown.
struct ProfileSpan {
  std::uint64_t opened_unix_ns = 0;      // CLOCK_REALTIME
  std::uint64_t opened_boottime_ns = 0;  // CLOCK_BOOTTIME
  std::uint64_t length_ns = 0;
};

struct StackProfile {
  const StackTable* table = nullptr;
  ProfileSpan span{};
  std::vector<StackValue> values{};
  std::vector<OwnedStacks> owners{};
};

// What stands above the frames of an owner's stacks: process and thread, as far as they are known,
// or else the cgroup. Never empty.
std::vector<std::string_view> roots_of(const StackOwner& owner);

// What a frame is, as far as people want to tell it apart.
enum class FrameKind : std::uint8_t {
  Group,      // no code: a process, a thread
  Native,     // a program's, a library's
  Kernel,     //
  Jit,        // made by a process as it ran
  Guessed,    // of any code, and maybe wrong
  Truncated,  // above it the stack is not known, or there is none
  Small,      // several that are too small to be drawn
};

FrameKind kind_of(const StackTable& table, std::uint32_t frame);

// The function, or the module and the place in it: "libc.so.6+0x1f40".
std::string function_of(const StackTable& table, std::uint32_t frame);
// The same for formats that have no other mark: " (guessed)" follows where the frame is that.
std::string marked_function_of(const StackTable& table, std::uint32_t frame);

// A file's path, "[kernel]", "[vdso]", "[jit]", or nothing.
std::string_view name_of(const Module& module);
std::string_view module_of(const StackTable& table, std::uint32_t frame);

}  // namespace ctprof
