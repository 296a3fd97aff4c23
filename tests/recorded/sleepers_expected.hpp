// What passes over sleepers found, from the raw frames of a tape: a second, plain computation.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "tests/recorded/tape.hpp"

namespace ctprof::recorded {

// Process, thread, start.
using SleeperId = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

struct ExpectedSleeper {
  SleeperId id{};
  std::vector<std::uint64_t> kernel{};
  bool has_user = false;                // it is no kernel thread
  std::optional<std::uint64_t> copied;  // bytes of its stack; none: there is no user part
  std::uint64_t ip = 0, sp = 0;
  std::array<std::uint64_t, 3> code{};  // what differs where the process has mapped other code
};

struct ExpectedPass {
  std::uint64_t at_ns = 0;             // CLOCK_MONOTONIC
  std::vector<ExpectedSleeper> fresh;  // that have run since the pass before
  std::vector<SleeperId> again;        // that have not
  std::vector<std::uint32_t> met;      // processes
};

struct ExpectedSleepers {
  std::vector<std::vector<ExpectedPass>> windows;
  std::size_t moved = 0;   // threads that had run on when they were looked at again
  std::size_t pieces = 0;  // records that came in two reads
};

ExpectedSleepers expected_sleepers(const Tape& tape);

}  // namespace ctprof::recorded
