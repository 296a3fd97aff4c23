#include <algorithm>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/screen_values.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

// The approximate CPU time of a minor fault.
constexpr double kNsPerMinorFault = 1000;
// The kernel's default limit on the bytes that it reads ahead at a major fault.
constexpr double kMaxBytesPerMajorFault = 128 << 10;

class EventFindings : ScreenValues {
 public:
  EventFindings(const Report& report, std::vector<Finding>& found)
      : ScreenValues(report), findings_(&found) {}

  void find() {
    if (!has_signs()) return;
    for (const ScreenRow& row : screen_->rows) {
      if (row.threads.back().total() == 0) continue;
      find_yields(row);
      find_minor_faults(row);
      find_major_faults(row);
      find_idle(row);
    }
  }

 private:
  // Sides with several runs have no signs.
  bool has_signs() const {
    return last_runs().size() == 1 && (!is_comparison() || report_->runs(0).size() == 1);
  }
  double rate(const ScreenRow& row, double GroupSigns::*events) const {
    return report_->signs(report_->sides().size() - 1)[row.group].*events / window_seconds();
  }
  double earlier_rate(const ScreenRow& row, double GroupSigns::*events) const {
    return is_comparison() ? report_->signs(0)[row.group].*events / first_seconds() : 0;
  }
  bool exceeds_rate(const ScreenRow& row, double GroupSigns::*events, double minimum) const {
    return exceeds(rate(row, events), earlier_rate(row, events), minimum);
  }
  std::string format_rate(const ScreenRow& row, double GroupSigns::*events) const {
    return format_brief(rate(row, events), "count");
  }
  double share(const ScreenRow& row, std::optional<std::size_t> at) const {
    return at ? screen_->share(row, *at) : 0;
  }

  // The scheduler preempts a thread at most a few hundred times per second; more are yields.
  void find_yields(const ScreenRow& row) {
    const auto events = &GroupSigns::involuntary_switches;
    if (!exceeds_rate(row, events, kMinYields)) return;
    findings_->push_back(make_finding(
        "yields", row,
        "gave up a CPU " + format_rate(row, events) +
            " times per second while it could run (invol/s), like programs that call sched_yield "
            "or wake each other",
        kWeightOfCause * std::max(share(row, run_), share(row, wait_)), NextStep::Threads));
  }

  void find_minor_faults(const ScreenRow& row) {
    const auto events = &GroupSigns::minor_faults;
    if (!exceeds_rate(row, events, kMinMinorFaults)) return;
    const double cpus = std::max(screen_->machine.cpus, 1.0);
    const double weight = rate(row, events) * kNsPerMinorFault / kNsPerSecond / cpus;
    findings_->push_back(
        make_finding("minor-faults", row,
                     "took " + format_rate(row, events) +
                         " page faults per second (flt/s) that needed no disk, like programs that "
                         "map memory repeatedly",
                     std::min(weight, 1.0), NextStep::Threads));
  }

  void find_major_faults(const ScreenRow& row) {
    const auto events = &GroupSigns::major_faults;
    if (!exceeds_rate(row, events, kMinMajorFaults)) return;
    findings_->push_back(make_finding("major-faults", row,
                                      "read pages from a disk or swap " + format_rate(row, events) +
                                          " times per second (major page faults)",
                                      weigh_major_faults(row), NextStep::Waits));
  }

  // Faults that can cause the group's reads precede the finding on the reads.
  double weigh_major_faults(const ScreenRow& row) const {
    double weight = kWeightOfCountFindings;
    const double bytes = rate(row, &GroupSigns::major_faults) * kMaxBytesPerMajorFault;
    for (const Finding& one : *findings_)
      if (one.rule == "io" && one.group == row.group)
        for (const ScreenColumn& column : screen_->columns)
          if (metric_unit(column) == "bytes" && column.headline.shown == CTPROF_SHOWN_RATE &&
              column.weight.share_of(bytes) >= one.weight / 2)
            weight = std::max(weight, kWeightOfCause * one.weight);
    return weight;
  }

  std::string_view metric_unit(const ScreenColumn& column) const {
    return report_->metrics()[column.metric].unit;
  }

  // A group that waits for a CPU instead is not idle.
  void find_idle(const ScreenRow& row) {
    if (!is_comparison() || !run_ || row.threads.back().living == 0) return;
    const double now = current_value(row, *run_), before = earlier_value(row, *run_);
    if (!(before >= kMinCpuChange) || !(now <= kMaxIdleShare * before)) return;
    if (wait_ && current_value(row, *wait_) >= now + kMaxIdleShare * before) return;
    findings_->push_back(make_finding("idle", row,
                                      "ran for " + duration_in_window(now) + " in " +
                                          window_duration() + describe_change(row, *run_),
                                      kWeightOfIdle * screen_->share(row, *run_), NextStep::Waits));
  }

  std::vector<Finding>* findings_;
};

}  // namespace

void find_event_findings(const Report& report, std::vector<Finding>& found) {
  EventFindings(report, found).find();
}

}  // namespace ctprof
