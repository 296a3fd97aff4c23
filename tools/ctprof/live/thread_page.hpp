// Every metric of one thread and of its process, with what it was in the windows before; and its
// call stacks, where a recorder told them.
//
// Windows of the whole host have what the screen needs; a window of the thread's process alone, of
// the same time, has the rest. Both are put together by the number of the window.
//
// Threads: one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/live/told.hpp"

namespace ctprof::live {

struct ThreadFigure {
  std::string metric;
  std::string value;        // for people, printable
  std::string description;  // of the metric
  double number = 0;        // NaN: it is none
  bool is_of_process = false;
  bool is_headline = false;  // a column of the screen
  bool is_known = false;     // otherwise `value` says why not
};

class ThreadPage {
 public:
  // So many windows are kept.
  static constexpr std::size_t kMostPoints = 120;

  explicit ThreadPage(ThreadId thread) : thread_(thread) {}
  const ThreadId& thread() const { return thread_; }

  // Adds what the window has of the thread; of what is known already this is the later word.
  // REQUIRES: a window made of differences.
  void take(std::uint64_t number, const Snapshot& window);
  // Whether that window was taken, whatever it had.
  bool has(std::uint64_t number) const { return points_.count(number) > 0; }

  // In that window: columns of the screen first, then what else is known of the thread, then of its
  // process, and last what is not known. Empty: it was not there.
  std::vector<ThreadFigure> figures(std::uint64_t number) const;
  // Its stacks in that window, the heaviest first, in lines that are no wider.
  std::vector<std::string> stacks(std::uint64_t number, std::size_t width) const;
  // "▁▂▁▇█": the metric in so many windows until that one, the highest of them as high as can be.
  // Blank where it is not known.
  std::string history(const std::string& metric, std::uint64_t number, std::size_t windows) const;

 private:
  struct Stack {
    std::string text;
    double weight = 0;
  };
  struct Point {
    std::map<std::string, ThreadFigure> figures;
    std::map<std::string, std::vector<Stack>> stacks;  // by metric, the heaviest first
  };
  void take_row(Point& point, const Snapshot& window, Entity entity, std::uint32_t row);
  void take_stacks(Point& point, const Snapshot& window, const Column& column, std::uint32_t row);

  ThreadId thread_;
  std::map<std::uint64_t, Point> points_;
};

// "▁▂▁▇█" of these; NaN is blank.
std::string sparkline(std::span<const double> numbers);

}  // namespace ctprof::live
