// Computes the sleepers that passes must find from the raw frames of a trace, separately and
// simply.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "tests/recorded/trace.hpp"

namespace ctprof::recorded {

// Process, thread, start time.
using SleeperId = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

struct ExpectedSleeper {
  SleeperId id{};
  std::vector<std::uint64_t> kernel{};
  bool has_user = false;                // not a kernel thread
  std::optional<std::uint64_t> copied;  // bytes of its stack; nullopt: no user stack
  std::uint64_t ip = 0, sp = 0;
  std::array<std::uint64_t, 3> code{};  // differs after the process mapped other code
};

struct ExpectedPass {
  std::uint64_t at_ns = 0;               // CLOCK_MONOTONIC
  std::vector<ExpectedSleeper> fresh;    // ran since the previous pass
  std::vector<SleeperId> unchanged;      // did not run since the previous pass
  std::vector<std::uint32_t> processes;  // processes found
};

struct ExpectedSleepers {
  std::vector<std::vector<ExpectedPass>> windows;
  std::size_t moved_threads = 0;  // threads that had run when they were checked again
  std::size_t split_records = 0;  // records that were split between two reads
};

ExpectedSleepers expected_sleepers(const Trace& trace);

}  // namespace ctprof::recorded
