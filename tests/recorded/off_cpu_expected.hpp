// Computes what the recorder off-cpu must report from the raw frames of a trace, without code of
// the plugin: a separate, simple computation of one window and one thread at a time.
//
// Contents:  windows, the last known state of each thread in each window, times by state.
// See also:  off_cpu_test.cc, for the comparison.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/off-cpu/shared_records.h"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded {

using Origin = std::pair<std::uint64_t, std::uint32_t>;  // start time, thread id

struct ExpectedThread {
  off_identity identity{};
  std::uint64_t wall = 0, until = 0;
  std::array<std::uint64_t, OFF_STATES> ns{};
  std::array<std::uint64_t, OFF_WAIT_STATES> counts{};
  std::uint64_t waits = 0, longest = 0, shortest = 0;
  std::uint64_t stack_weight = 0;  // of the stacks on the trace
  std::uint64_t open_wait = 0;     // of the wait in progress at the end of the window
  off_stack_place place{};         // the stack of that wait
  std::uint64_t unseen_events = 0;

  std::uint64_t off_cpu() const { return ns[0] + ns[1] + ns[2] + ns[3]; }
};

struct ExpectedWindow {
  std::uint64_t number = 0, opened = 0, ended = 0;
  std::map<Origin, ExpectedThread> threads = {};
  std::vector<const off_stack*> stacks = {};
};

std::vector<ExpectedWindow> compute_windows(const Trace& trace);

}  // namespace ctprof::recorded
