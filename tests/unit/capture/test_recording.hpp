// Passes raw records from a test to RecordedStacks, and returns the resulting column of stacks.

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/capture/recorded_stacks.hpp"
#include "tests/unit/support/named_stacks.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::hand_made {

inline sdk::Fd proc() { return sdk::Fd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

// A window from second 10 to 20. Thread 8 of process 7 exits at 12, and its id is reused.
inline Snapshot window_with_reused_id() {
  const std::vector<StartedThread> before{{7, 5}, {8, 5}}, after{{7, 5}, {8, 1500}};
  auto made = make_window(snapshot_at(10, before, 7), snapshot_at(20, after, 7),
                          exited_at(12, {{8, 5}}, 7));
  BOOST_REQUIRE(made);
  return std::move(*made);
}

// Records and the column of metric kStacks that they produce.
class Recording {
 public:
  explicit Recording(Snapshot window = window_with_reused_id(), ExclusiveEnds ends = {},
                     const FrameLimits& limits = {}, bool is_elevated = false)
      : window_(std::move(window)),
        stacks_(window_, proc().get(), ends, std::chrono::hours(1), limits, is_elevated) {}

  RecordedStacks& stacks() { return stacks_; }
  void begin() { stacks_.begin_source("test", "tests", {kStacks}); }
  // Returns the stacks of a row as text.
  std::string row_text(std::size_t row) {
    const Column* column = window_.threads().find(kStacks.name);
    return column ? stacks_of(window_, *column, row) : "no column";
  }
  // Returns the frames of the only stack of the row, leaf first.
  std::vector<Frame> frames(std::size_t row) {
    const StackPool& pool = window_.pools->stacks;
    const auto set = pool[window_.threads().find(kStacks.name)->ids()[row]];
    BOOST_REQUIRE_EQUAL(set.size(), 1u);
    std::vector<Frame> frames;
    for (const std::uint32_t frame :
         pool.table.get_stack_frames(static_cast<std::uint32_t>(set[0].stack)))
      frames.push_back(pool.table.frames()[frame]);
    return frames;
  }
  const Module& module(const Frame& frame) {
    return window_.pools->stacks.table.modules()[frame.module];
  }
  const Snapshot& window() const { return window_; }

 private:
  Snapshot window_;
  RecordedStacks stacks_;
};

inline ctprof_record record_of(std::uint64_t tgid, std::uint64_t tid, std::uint64_t weight,
                               std::uint64_t at_ns = 0, std::uint64_t start = 0) {
  ctprof_record record{};
  record.size = sizeof record;
  record.tgid = tgid;
  record.tid = tid;
  record.weight = weight;
  record.at_ns = at_ns;
  record.start_time_clock_ticks = start;
  return record;
}

inline ctprof_record with_addresses(ctprof_record record,
                                    const std::vector<std::uint64_t>& addresses) {
  record.user_kind = CTPROF_USER_ADDRESSES;
  record.user = addresses.data();
  record.user_count = static_cast<std::uint32_t>(addresses.size());
  return record;
}

}  // namespace ctprof::hand_made
