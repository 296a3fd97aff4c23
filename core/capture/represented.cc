#include "core/capture/represented.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/window/happened.hpp"

namespace ctprof {
namespace {

constexpr double kNsPerS = 1e9;
// In standard deviations of the number of samples; chance exceeds it in one recording of 15,000.
constexpr double kDeviations = 4;
// Tolerated error at the two ends of a window, in samples.
constexpr double kAtEnds = 2;

// Run time of threads at both ends of a window, including the run in progress at each end.
class RunTime {
 public:
  explicit RunTime(const Snapshot& window)
      : window_(window),
        now_(find_role(window.threads().columns, "run-time")),
        then_(find_role(opening(window).columns, "run-time")),
        more_now_(find_role(window.threads().columns, "run-time-in-progress")),
        more_then_(find_role(opening(window).columns, "run-time-in-progress")) {}

  // Returns the run time in the window; nullopt if it is unknown.
  std::optional<double> of(std::size_t row) const {
    const auto now = at(now_, more_now_, row, row < window_.window->living);
    if (!now) return std::nullopt;
    if (row < opening(window_).born.size() && opening(window_).born[row] != 0) return *now;
    const auto then = at(then_, more_then_, row, true);
    return then && *then <= *now ? std::optional(*now - *then) : std::nullopt;
  }

 private:
  static const Opening& opening(const Snapshot& window) { return window.window->openings[0]; }

  static std::optional<double> at(const Column* time, const Column* more, std::size_t row,
                                  bool runs_on) {
    if (!time || !time->has_value(row)) return std::nullopt;
    double ns = static_cast<double>(time->u64()[row]);
    if (runs_on && more && more->has_value(row)) ns += static_cast<double>(more->u64()[row]);
    return ns;
  }

  const Snapshot& window_;
  const Column *now_, *then_, *more_now_, *more_then_;
};

}  // namespace

Represented represented(const Snapshot& window, const Column& column, std::uint64_t samples) {
  Represented sums;
  const RunTime run_time(window);
  double all_ns = 0;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    double sampled_ns = 0;
    for (const ctprof_stack& stack : window.pools->stacks[column.ids()[row]])
      sampled_ns += static_cast<double>(stack.weight);
    all_ns += sampled_ns;
    const auto ran_ns = run_time.of(row);
    if (!ran_ns) continue;
    sums.sampled_ns += sampled_ns;
    sums.ran_ns += *ran_ns;
  }
  if (all_ns > 0) sums.samples = static_cast<double>(samples) * sums.sampled_ns / all_ns;
  return sums;
}

// If no sample was taken, the time per sample is unknown: the run time is then accepted.
bool differs(const Represented& both) {
  if (both.ran_ns <= 0 || both.samples <= 0) return false;
  const double ns_per_sample = both.sampled_ns / both.samples;
  const double expected = std::max(both.samples, both.ran_ns / ns_per_sample);
  const double allowed = kDeviations * std::sqrt(expected) + kAtEnds;
  return std::abs(both.ran_ns - both.sampled_ns) > allowed * ns_per_sample;
}

std::string in_words(const Represented& both) {
  if (!differs(both)) return {};
  char text[96];
  std::snprintf(text, sizeof text, "samples represent %.2f of %.2f s run",
                both.sampled_ns / kNsPerS, both.ran_ns / kNsPerS);
  return text;
}

}  // namespace ctprof
