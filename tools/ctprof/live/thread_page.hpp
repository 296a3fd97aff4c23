// Every metric of one thread and of its process, with the values in previous windows, and the
// thread's call stacks if a recorder is active.
//
// Windows of the whole host contain the metrics of the screen. Windows of the thread's process,
// taken at the same time, contain the others. Both are combined by the number of the window.
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
#include "tools/ctprof/live/window_reports.hpp"

namespace ctprof::live {

struct ThreadFigure {
  std::string metric;
  std::string value;        // as shown, printable
  std::string description;  // description of the metric
  double number = 0;        // NaN: not a number
  bool is_of_process = false;
  bool is_headline = false;  // a column of the screen
  bool is_known = false;     // otherwise `value` contains the reason
};

class ThreadPage {
 public:
  // Number of windows that are stored.
  static constexpr std::size_t kMaxPoints = 120;

  explicit ThreadPage(ThreadId thread) : thread_(thread) {}
  const ThreadId& thread() const { return thread_; }

  // Adds the window's data of the thread. New values replace older ones of the same window.
  // REQUIRES: a window with computed differences.
  void add_window(std::uint64_t number, const Snapshot& window);
  // Whether that window was added, with or without the thread.
  bool has_window(std::uint64_t number) const { return points_.count(number) > 0; }

  // Returns the figures of that window: first screen columns, then other known figures of the
  // thread, then those of its process, and then unknown ones. Empty if the thread did not exist.
  std::vector<ThreadFigure> figures(std::uint64_t number) const;
  // Returns the thread's stacks in that window, heaviest first, as lines of at most `width`
  // columns.
  std::vector<std::string> stacks(std::uint64_t number, std::size_t width) const;
  // Returns "▁▂▁▇█": the metric in the given number of windows up to that one, scaled to the
  // highest value. Unknown values are blank.
  std::string history(const std::string& metric, std::uint64_t number, std::size_t windows) const;

 private:
  struct Stack {
    std::string text;
    double weight = 0;
  };
  struct Point {
    std::map<std::string, ThreadFigure> figures;
    std::map<std::string, std::vector<Stack>> stacks;  // by metric, heaviest first
  };
  void add_row(Point& point, const Snapshot& window, Entity entity, std::uint32_t row);
  void add_stacks(Point& point, const Snapshot& window, const Column& column, std::uint32_t row);

  ThreadId thread_;
  std::map<std::uint64_t, Point> points_;
};

// Returns a sparkline of the numbers: "▁▂▁▇█". NaN is blank.
std::string sparkline(std::span<const double> numbers);

}  // namespace ctprof::live
