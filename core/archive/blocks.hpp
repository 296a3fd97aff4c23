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
// Blocks are nearly independent and not quite: of simulated spans that do not differ, 3 to 8 of 100
// have a row that is significant at 0.05 (tests/statistics/simulate_spans.cc).

#pragma once

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

// Fewer windows, or blocks, on any side are not tested.
inline constexpr std::size_t kLeastWindows = 30, kLeastBlocks = 4;
// More blocks than these would take memory and add nothing.
inline constexpr std::size_t kMostBlocks = 16;

// Consecutive windows by their numbers.
struct WindowRange {
  std::size_t first = 0, count = 0;
  bool operator==(const WindowRange&) const = default;
};

// What a window counted, per second: of each headline that counts up, the sum of all threads and
// that of each program.
struct WindowFigures {
  Moment opened, ended;
  std::string boot_id;
  std::map<std::pair<std::string, std::string>, double> rates;  // by metric and program ("": all)
};

// REQUIRES: window.window, and that no differences were made. Time that a thread is running or
// waiting for at either end is counted in the window in which the kernel adds it.
WindowFigures figures_of(const Snapshot& window);

// The windows of a side.
class WindowSeries {
 public:
  // REQUIRES: the numbers ascend.
  void add(std::size_t number, WindowFigures figures);

  std::size_t size() const { return windows_.size(); }
  // The mean length of a window.
  std::uint64_t window_ns() const;
  // Windows that follow one another without a gap.
  std::vector<WindowRange> pieces() const;
  // For how long figures resemble themselves.
  double autocorrelation_ns() const;

 private:
  std::vector<std::vector<double>> series() const;

  std::vector<std::pair<std::size_t, WindowFigures>> windows_;
};

struct BlockPlan {
  std::vector<std::vector<WindowRange>> sides;  // the blocks of each side, or empty
  double autocorrelation_ns = 0;                // the longest of all sides
  std::string why_none;                         // a sentence: why there are no blocks
};

// REQUIRES: two sides or more.
BlockPlan plan_blocks(std::span<const WindowSeries> sides);

// A block as one window. `read` gives a window by its number, called once for each in their order.
// Fails as `read` does, and as make_window() does.
Result<Snapshot> joined(const WindowRange& block,
                        const std::function<Result<Snapshot>(std::size_t)>& read);

}  // namespace ctprof
