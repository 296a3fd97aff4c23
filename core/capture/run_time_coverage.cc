#include "core/capture/run_time_coverage.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/base/clock.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

// In standard deviations of the number of samples; chance exceeds it in one recording of 15,000.
constexpr double kDeviations = 4;
// Tolerated error at the two ends of a window, in samples.
constexpr double kSamplesAtEnds = 2;

// Run time of threads at both ends of a window, including the run in progress at each end.
class RunTime {
 public:
  explicit RunTime(const Snapshot& window)
      : window_(window),
        closing_(find_role(window.threads().columns, "run-time")),
        opening_(find_role(opening(window).columns, "run-time")),
        closing_in_progress_(find_role(window.threads().columns, "run-time-in-progress")),
        opening_in_progress_(find_role(opening(window).columns, "run-time-in-progress")) {}

  // Returns the run time in the window; nullopt if it is unknown.
  std::optional<double> in_window(std::size_t row) const {
    const auto closing_ns =
        value_at(closing_, closing_in_progress_, row, row < window_.window->living_threads);
    if (!closing_ns) return std::nullopt;
    if (row < opening(window_).started.size() && opening(window_).started[row] != 0)
      return *closing_ns;
    const auto opening_ns = value_at(opening_, opening_in_progress_, row, true);
    return opening_ns && *opening_ns <= *closing_ns ? std::optional(*closing_ns - *opening_ns)
                                                    : std::nullopt;
  }

 private:
  static const Opening& opening(const Snapshot& window) { return window.window->openings[0]; }

  static std::optional<double> value_at(const Column* time, const Column* in_progress,
                                        std::size_t row, bool is_living) {
    if (!time || !time->has_value(row)) return std::nullopt;
    double ns = static_cast<double>(time->u64()[row]);
    if (is_living && in_progress && in_progress->has_value(row))
      ns += static_cast<double>(in_progress->u64()[row]);
    return ns;
  }

  const Snapshot& window_;
  const Column *closing_, *opening_, *closing_in_progress_, *opening_in_progress_;
};

}  // namespace

RunTimeCoverage compute_run_time_coverage(const Snapshot& window, const Column& column,
                                          std::uint64_t samples) {
  RunTimeCoverage sums;
  const RunTime run_time(window);
  double total_ns = 0;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    double sampled_ns = 0;
    for (const ctprof_stack& stack : window.pools->stacks[column.ids()[row]])
      sampled_ns += static_cast<double>(stack.weight);
    total_ns += sampled_ns;
    const auto run_ns = run_time.in_window(row);
    if (!run_ns) continue;
    sums.sampled_ns += sampled_ns;
    sums.run_ns += *run_ns;
  }
  if (total_ns > 0) sums.samples = static_cast<double>(samples) * sums.sampled_ns / total_ns;
  return sums;
}

// If no sample was taken, the time per sample is unknown: the run time is then accepted.
bool differs_significantly(const RunTimeCoverage& both) {
  if (both.run_ns <= 0 || both.samples <= 0) return false;
  const double ns_per_sample = both.sampled_ns / both.samples;
  const double expected = std::max(both.samples, both.run_ns / ns_per_sample);
  const double allowed = kDeviations * std::sqrt(expected) + kSamplesAtEnds;
  return std::abs(both.run_ns - both.sampled_ns) > allowed * ns_per_sample;
}

std::string describe_coverage(const RunTimeCoverage& both) {
  if (!differs_significantly(both)) return {};
  char text[96];
  std::snprintf(text, sizeof text, "samples represent %.2f of %.2f s of run time",
                both.sampled_ns / kNsPerSecond, both.run_ns / kNsPerSecond);
  return text;
}

}  // namespace ctprof
