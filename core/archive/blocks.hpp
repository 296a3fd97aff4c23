// Blocks: consecutive windows made a few runs, so that two spans of time can be compared with
// evidence.
//
//   WindowSeries before, after;                     // figures of each window, in the order of time
//   for (...) before.add(window);                   // and of the other side
//   const BlockPlan plan = plan_blocks({&before, &after});
//   for (const WindowRange& block : plan.sides[0]) runs.push_back(joined(block, read));
//
// A block is as long as the autocorrelation of the figures requires for blocks to be nearly
// independent (core/statistics/autocorrelation.hpp), and about equally long on all sides, since a
// longer one varies less. No block covers a time without windows. What all sides together have
// decides; which side has more of anything does not.
//
// Only figures that are counted take part: levels, such as memory, may resemble themselves for
// longer, and are not tested by blocks (SideDesign::are_blocks).

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

// With fewer windows, or blocks, on any side nothing is tested. Of simulated spans that do not
// differ, those with four or five blocks have a significant row too often
// (tests/statistics/simulate_spans.cc).
inline constexpr std::size_t kLeastWindows = 30, kLeastBlocks = 6;
// So many blocks on the shorter side, and on a longer one: more would add little.
inline constexpr std::size_t kMostBlocks = 16, kMostBlocksOfLonger = 64;

// Consecutive windows by their numbers.
struct WindowRange {
  std::size_t first = 0, count = 0;
  bool operator==(const WindowRange&) const = default;
};

// What a window counted, per second: of each headline that counts up, the sum of all threads and
// that of each program with a hundredth of it.
struct WindowFigures {
  Moment opened, ended;
  std::string boot_id;
  std::map<std::pair<std::string, std::string>, double> rates;  // by metric and program ("": all)

  std::uint64_t length_ns() const {
    return ended.boottime_ns - std::min(opened.boottime_ns, ended.boottime_ns);
  }
};

// REQUIRES: window.window, and that no differences were made. Time that a thread is running or
// waiting for at either end is counted in the window in which the kernel adds it.
WindowFigures figures_of(const Snapshot& window);

// The windows of a side.
class WindowSeries {
 public:
  // REQUIRES: the numbers ascend.
  void add(std::size_t number, const WindowFigures& figures);

  std::size_t size() const { return lengths_ns_.size(); }
  // The mean length of a window.
  std::uint64_t window_ns() const;
  // Windows that follow one another without a gap.
  const std::vector<WindowRange>& pieces() const { return pieces_; }
  // The longest autocorrelation time of the figures that are tested.
  double autocorrelation_ns() const;

 private:
  std::vector<std::vector<double>> series() const;

  std::vector<std::uint64_t> lengths_ns_;
  std::vector<WindowRange> pieces_;
  Moment ended_;         // the last window
  std::string boot_id_;  // of the last window
  // By metric and program; windows without an entry have none of it.
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::size_t, float>>> rates_;
};

struct BlockPlan {
  std::vector<std::vector<WindowRange>> sides;  // the blocks of each side, or empty
  std::vector<std::string> remarks;             // of each side: its blocks, and what is in none
  std::string why_none;                         // a sentence: why there are no blocks
};

// REQUIRES: two sides or more.
BlockPlan plan_blocks(std::span<const WindowSeries> sides);

// How many windows the blocks have.
std::size_t windows_in(std::span<const WindowRange> blocks);

// A block as one window. `read` gives a window by its number, called once for each in their order.
// Fails as `read` does, and as make_window() does.
Result<Snapshot> joined(const WindowRange& block,
                        const std::function<Result<Snapshot>(std::size_t)>& read);

}  // namespace ctprof
