// What the recorder off-cpu has to deliver, computed from the raw frames of a tape without any code
// of the plugin: a second, plain computation, one window and one thread at a time.
//
// What is here:   windows, the last known state of each thread in each, times by kind of state.
// What is not:    the comparison (off_cpu_test.cc).

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/off-cpu/told.h"
#include "tests/recorded/tape.hpp"

namespace ctprof::recorded {

using Origin = std::pair<std::uint64_t, std::uint32_t>;  // start, tid

struct ExpectedThread {
  off_who who{};
  std::uint64_t wall = 0, until = 0;
  std::array<std::uint64_t, OFF_STATES> ns{};
  std::array<std::uint64_t, OFF_KINDS> counts{};
  std::uint64_t waits = 0, longest = 0, shortest = 0;
  std::uint64_t stack_weight = 0;  // of the stacks that the tape contains
  std::uint64_t open_wait = 0;     // of the wait that goes on when the window ends
  off_place place{};               // ... and where
  std::uint64_t odd = 0;

  std::uint64_t off_cpu() const { return ns[0] + ns[1] + ns[2] + ns[3]; }
};

struct ExpectedWindow {
  std::uint64_t number = 0, opened = 0, ended = 0;
  std::map<Origin, ExpectedThread> threads = {};
  std::vector<const off_stack*> stacks = {};
};

std::vector<ExpectedWindow> expected_windows(const Tape& tape);

}  // namespace ctprof::recorded
