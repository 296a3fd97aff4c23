#include "core/compare/report/row_findings.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/cgroup_findings.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/screen_values.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

class RowFindings : ScreenValues {
 public:
  RowFindings(const Report& report, std::vector<Finding>& found)
      : ScreenValues(report), throttled_(list_throttled_cgroups(report)), findings_(&found) {}

  void find() {
    for (const ScreenRow& row : screen_->rows) {
      if (row.threads.back().total() == 0) continue;
      find_wait(row);
      find_blocked(row);
      find_io(row);
      find_threads(row);
      find_starts(row);
      find_cpu(row);
      find_settings(row);
    }
    add_wait_finding();
  }

 private:
  // A group that ran, in percent of one CPU. No group: processes that --where excludes.
  struct Runner {
    double percent;
    std::string name;
    std::optional<std::uint32_t> group{};
  };

  // A group that waited for a CPU, and the groups that ran most during the wait, with the duration.
  struct Wait {
    const ScreenRow* row;
    double weight;
    std::string waited;
    std::vector<Runner> ran;
    std::string change;
  };

  void add(std::string_view rule, const ScreenRow& row, std::string statement, double weight,
           NextStep next) {
    findings_->push_back(make_finding(rule, row, std::move(statement), weight, next));
  }

  void find_wait(const ScreenRow& row) {
    if (!run_ || !wait_) return;
    const double wait_share = current_value(row, *wait_), run_share = current_value(row, *run_);
    if (!exceeds(row, *wait_, kMinWait)) return;
    if (!(wait_share >= kMinWaitShare * (run_share + wait_share))) return;
    if (is_explained_by_quota(row)) return;
    waits_.push_back({&row, screen_->share(row, *wait_),
                      "waited " + duration_in_window(wait_share) + " for a CPU in " +
                          window_duration() + " (" +
                          format_finding_percent(wait_share / (run_share + wait_share)) +
                          " of the time that it was runnable)",
                      find_busiest_groups(row), describe_change(row, *wait_)});
  }

  // A finding about a throttled cgroup explains the wait of a group if most of the wait was there,
  // and the quota stopped the cgroup for most of it. Several threads wait at the same time for one
  // CPU, so a wait that exceeds the time of all CPUs counts as that time.
  bool is_explained_by_quota(const ScreenRow& row) const {
    constexpr double kMinExplainedShare = 0.5;
    const std::size_t side = report_->sides().size() - 1;
    const auto& throttled_cpus = report_->sides()[side].window->load.throttled_cgroups;
    double waited_ns = 0, throttled = 0;
    for (const ThrottledWait& one : report_->signs(side)[row.group].throttled_waits) {
      if (std::ranges::find(throttled_, one.cgroup) == throttled_.end()) continue;
      waited_ns += one.wait_ns;
      throttled += throttled_cpus.at(one.cgroup);
    }
    const double wait = current_value(row, *wait_) / 100;  // in CPUs
    const double wait_of_cpus = std::min(wait, std::max(screen_->machine.cpus, 1.0));
    return waited_ns >= kMinExplainedShare * wait * window_seconds() * kNsPerSecond &&
           throttled >= kMinExplainedShare * wait_of_cpus;
  }

  // Too few CPUs for all groups are one cause. The group that waited most becomes the subject, and
  // the next one is named.
  void add_wait_finding() {
    if (waits_.empty()) return;
    std::ranges::sort(waits_, {}, [&](const Wait& one) {
      return std::pair(-one.weight, std::string_view(report_->grouping().names[one.row->group]));
    });
    const Wait& first = waits_.front();
    std::string also;
    std::optional<std::uint32_t> next;
    if (waits_.size() > 1) {
      next = waits_[1].row->group;
      also = "; " + name_of(*next);
      for (const Runner& one : first.ran)
        if (one.group == next) also += ", which ran for " + duration_in_window(one.percent) + ",";
      if (waits_.size() > 2) also += " and " + format_count(waits_.size() - 2, "other group");
      also += " also waited";
    }
    add("wait", *first.row, first.waited + describe_busiest(first, next) + also + first.change,
        first.weight, NextStep::Threads);
  }

  // `also_waited`: a group that is not named among the running ones.
  std::string describe_busiest(const Wait& wait, std::optional<std::uint32_t> also_waited) const {
    std::string text;
    for (const Runner& one : wait.ran)
      if (!also_waited || one.group != also_waited)
        text += (text.empty() ? ", while " : " and ") + one.name + " ran for " +
                duration_in_window(one.percent);
    return text;
  }

  std::vector<Runner> find_busiest_groups(const ScreenRow& waiting) {
    constexpr std::size_t kMaxNamedGroups = 2;
    if (!busiest_) find_busiest(kMaxNamedGroups + 1);
    std::vector<Runner> found;
    for (const Runner& one : *busiest_)
      if (one.group != waiting.group && found.size() < kMaxNamedGroups) found.push_back(one);
    return found;
  }

  // Includes processes that --where excludes, because they use the same CPUs.
  void find_busiest(std::size_t count) {
    auto& found = busiest_.emplace();
    for (const ScreenRow& row : screen_->rows)
      if (current_value(row, *run_) >= kMinWait)
        found.push_back({current_value(row, *run_), name_of(row.group), row.group});
    const std::size_t side = report_->sides().size() - 1;
    const double percent_of_ns = 100 / std::max(report_->sides()[side].window->rates_over_ns, 1.0);
    for (const ExcludedProcesses& one : report_->busiest_excluded(side))
      if (one.run_ns * percent_of_ns >= kMinWait)
        found.push_back({one.run_ns * percent_of_ns, one.name});
    std::ranges::sort(found, {}, [](const Runner& one) {
      return std::pair(-one.percent, std::string_view(one.name));
    });
    found.resize(std::min(count, found.size()));
  }

  std::string name_of(std::uint32_t group) const {
    return readable_key(report_->grouping().names[group]);
  }

  // Uses any column of blocked time. A group counts once, with its largest value. Kernel threads
  // are excluded, because they are blocked while they have no work.
  void find_blocked(const ScreenRow& row) {
    if (row.threads.back().kernel_threads == row.threads.back().total()) return;
    std::optional<std::size_t> largest_column;
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const Headline& headline = screen_->columns[at].headline;
      const bool is_blocked = headline.shown == CTPROF_SHOWN_PERCENT &&
                              !headline.orders_by_change && at != run_ && at != wait_ &&
                              !metric(at).is_third_party;
      if (is_blocked && exceeds(row, at, kMinBlocked) &&
          (!largest_column || current_value(row, at) > current_value(row, *largest_column)))
        largest_column = at;
    }
    if (!largest_column) return;
    add("blocked", row,
        "was blocked for " + duration_in_window(current_value(row, *largest_column)) + " in " +
            window_duration() + " (" + screen_->columns[*largest_column].headline.label + ")" +
            describe_change(row, *largest_column),
        screen_->share(row, *largest_column), NextStep::Waits);
  }

  // Reading and writing are one finding.
  void find_io(const ScreenRow& row) {
    std::string amounts, changes;
    double largest_share = 0;
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const ScreenColumn& column = screen_->columns[at];
      if (column.headline.shown != CTPROF_SHOWN_RATE || metric(at).unit != "bytes") continue;
      const double share = column.weight.share_of(current_value(row, at));
      if (!may_be_finding(row, at) ||
          !exceeds(share, column.weight.share_of(earlier_value(row, at)), kMinIo))
        continue;
      amounts += (amounts.empty() ? "" : " and ") + format_brief(current_value(row, at), "bytes") +
                 "B per second (" + column.headline.label + ")";
      changes += describe_change(row, at);
      largest_share = std::max(largest_share, share);
    }
    if (amounts.empty()) return;
    add("io", row,
        "moved " + amounts + ", while the disks were busy for " +
            format_finding_percent(screen_->machine.disk_busy) + " of the time" + changes,
        largest_share, NextStep::Waits);
  }

  void find_threads(const ScreenRow& row) {
    const ScreenThreads& last = row.threads.back();
    const double earlier_threads = is_comparison() && row.threads.front().total() > 0
                                       ? row.threads.front().living
                                       : last.living - thread_growth(last);
    const double more = last.living - earlier_threads;
    if (earlier_threads < 1 || more < kThreadsFloor ||
        more < kMinThreadGrowthShare * earlier_threads)
      return;
    if (last.exited > kMaxExitedShare * std::max(last.started, more))
      return;  // threads start and exit continuously
    add("threads", row,
        "has " + format_decimal_count(last.living) + " threads, " + format_decimal_count(more) +
            " more than " + (is_comparison() ? "in the first window" : "when the window opened"),
        row.score, NextStep::Threads);
  }

  void find_starts(const ScreenRow& row) {
    if (!run_) return;
    const ScreenThreads& last = row.threads.back();
    const double rate = std::min(last.started, last.exited) / std::max(window_seconds(), 0.001);
    const auto& first = row.threads.front();
    const double earlier =
        is_comparison() ? std::min(first.started, first.exited) / first_seconds() : 0;
    if (!exceeds(rate, earlier, kMinStarts) || !(current_value(row, *run_) >= kMinStartsCpu))
      return;
    add("starts", row,
        "started " + format_decimal_count(last.started) + " threads or processes in " +
            window_duration() + ", and ran for " + duration_in_window(current_value(row, *run_)) +
            describe_change(row, *run_),
        weigh_starts(row), NextStep::Threads);
  }

  // Many starts explain that the group waits for a CPU.
  double weigh_starts(const ScreenRow& row) const {
    const double run_share = screen_->share(row, *run_);
    if (!wait_) return run_share;
    const double wait_ns = current_value(row, *wait_) / 100 * window_seconds() * kNsPerSecond;
    if (wait_ns > kMaxShortWaitForCpuNs * row.threads.back().started) return run_share;
    return std::max(run_share, kWeightOfCause * screen_->share(row, *wait_));
  }

  void find_cpu(const ScreenRow& row) {
    if (!is_comparison() || !run_) return;
    const double more = current_value(row, *run_) - earlier_value(row, *run_);
    if (!(more >= kMinCpuChange) || !exceeds(row, *run_, 0)) return;
    add("cpu", row,
        "ran for " + duration_in_window(current_value(row, *run_)) + " in " + window_duration() +
            describe_change(row, *run_),
        screen_->share(row, *run_), NextStep::Threads);
  }

  // All settings of a group that differ are one finding.
  void find_settings(const ScreenRow& row) {
    if (!is_comparison() || row.score < kMinEffect || !may_be_finding(row, row.score_column))
      return;
    constexpr std::size_t kMaxNamedSettings = 3;
    const std::size_t side = report_->sides().size() - 1;
    std::string settings;
    std::size_t count = 0;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at) {
      const PlannedMetric& setting = report_->metrics()[at];
      if (!setting.is_setting || setting.entity == Entity::Host) continue;
      if (report_->changes().change(row.group, at, side).state != ChangeState::Changed) continue;
      const auto text = [&](std::size_t side_index) {
        return report_->rollup().text({side_index, row.group, at});
      };
      if (++count <= kMaxNamedSettings)
        settings +=
            (settings.empty() ? "" : ", ") + setting.name + " " + text(0) + " → " + text(side);
    }
    if (count == 0) return;
    if (count > kMaxNamedSettings)
      settings += " and " + format_count(count - kMaxNamedSettings, "other setting");
    add("setting", row, settings + describe_change(row, row.score_column),
        kWeightOfCause * row.score, NextStep::Settings);
  }

  // The groups that ran most; computed for the first group that waited.
  std::optional<std::vector<Runner>> busiest_;
  std::vector<Wait> waits_;
  std::vector<std::string> throttled_;  // cgroups of which a finding reports that a quota throttled
                                        // them
  std::vector<Finding>* findings_;
};

}  // namespace

void find_row_findings(const Report& report, std::vector<Finding>& found) {
  RowFindings(report, found).find();
}

}  // namespace ctprof
