// Blocks: combines consecutive windows into a few runs, so that two spans of time can be compared
// with a statistical test.
//
//   WindowSeries before, after;                     // values of each window, in the order of time
//   for (...) before.add(window);                   // and of the other side
//   const BlockPlan plan = plan_blocks({&before, &after});
//   for (const WindowRange& block : plan.sides[0]) runs.push_back(join_block(block, read));
//
// A block is long enough for blocks to be nearly independent, which depends on the autocorrelation
// of the values (core/statistics/autocorrelation.hpp). Blocks are about equally long on all sides,
// since longer ones vary less. No block covers a time without windows. The block length is computed
// from all sides together and does not depend on which side has larger values.
//
// Only counters take part. Gauges, such as memory, can be autocorrelated for longer, and are not
// tested with blocks (SideDesign::are_blocks).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Minimum windows and blocks per side for a test; three blocks a side cannot reach a p of 0.05.
inline constexpr std::size_t kMinWindows = 30, kMinBlocks = 4;
// Maximum number of blocks on the shorter side, and on a longer one. More blocks would hardly
// improve the test.
inline constexpr std::size_t kMaxBlocks = 16, kMaxBlocksOfLongerSide = 64;

// Consecutive windows, by their numbers.
struct WindowRange {
  std::size_t first = 0, count = 0;
  bool operator==(const WindowRange&) const = default;
};

// The rates of a window, per second: for each headline that is a counter, the sum of all threads
// and that of each program with at least 1 % of that sum.
struct WindowRates {
  Timestamp opened_at, ended_at;
  std::string boot_id;
  std::map<std::pair<std::string, std::string>, double> rates;  // by metric and program ("": all)

  std::uint64_t length_ns() const {
    return ended_at.boottime_ns - std::min(opened_at.boottime_ns, ended_at.boottime_ns);
  }
};

// Computes the rates of a window. REQUIRES: window.window, and counters that were not converted to
// differences. Run time or wait time that is in progress at an end of the window belongs to the
// window in which the kernel adds it.
WindowRates rates_of(const Snapshot& window);

// The windows of one side.
class WindowSeries {
 public:
  // Adds a window. REQUIRES: the numbers ascend.
  void add(std::size_t number, const WindowRates& figures);

  std::size_t size() const { return lengths_ns_.size(); }
  // Returns the mean length of a window.
  std::uint64_t window_ns() const;
  // Returns the ranges of windows without a gap inside.
  const std::vector<WindowRange>& contiguous_ranges() const { return contiguous_ranges_; }
  // Returns the longest autocorrelation time of the tested series.
  double autocorrelation_ns() const;

 private:
  std::vector<std::vector<double>> series() const;

  std::vector<std::uint64_t> lengths_ns_;
  std::vector<WindowRange> contiguous_ranges_;
  Timestamp last_ended_at_;  // end of the last window
  std::string boot_id_;      // boot id of the last window
  // By metric and program: window number and rate. Windows without an entry have a rate of zero.
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::size_t, float>>> rates_;
};

// The division of all sides into blocks, or the reason why there is none.
struct BlockPlan {
  std::vector<std::vector<WindowRange>> sides;  // the blocks of each side; empty if there are none
  std::vector<std::string> messages;  // for each side: its blocks, and the windows that are in none
  std::string reason_for_none;        // why there are no blocks
};

// Plans the blocks. REQUIRES: at least two sides.
BlockPlan plan_blocks(std::span<const WindowSeries> sides);

// Returns the number of windows in the blocks.
std::size_t count_windows(std::span<const WindowRange> blocks);

// Joins the windows of a block into one. `read` returns a window by its number; it is called once
// for each window, in order. Fails if `read` or make_window() fails.
Result<Snapshot> join_block(const WindowRange& block,
                            const std::function<Result<Snapshot>(std::size_t)>& read);

}  // namespace ctprof
