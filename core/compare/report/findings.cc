#include "core/compare/report/findings.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

class CauseFinder {
 public:
  explicit CauseFinder(const Report& report) : report_(&report), screen_(report.screen()) {
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const std::string& role = metric(at).role;
      if (role == "run-time") run_ = at;
      if (role == "wait-time") wait_ = at;
      if (role == "resident") resident_ = at;
    }
  }

  std::vector<Finding> find() {
    for (const ScreenRow& row : screen_->rows) {
      if (row.threads.back().total() == 0) continue;
      find_wait(row);
      find_blocked(row);
      find_io(row);
      find_memory(row);
      find_threads(row);
      find_starts(row);
      find_cpu(row);
      find_settings(row);
    }
    find_throttled();
    find_pressure();
    find_sign_findings(*report_, findings_);
    return sort_and_limit();
  }

 private:
  const PlannedMetric& metric(std::size_t at) const {
    return report_->metrics()[screen_->columns[at].metric];
  }
  bool is_comparison() const { return report_->is_comparison(); }
  // Returns the value that the table of the screen shows: for a tested row the value to which the
  // shift leads, otherwise the median (render/displayed_figures.hpp).
  double current_value(const ScreenRow& row, std::size_t at) const {
    const auto figures = screen_->figures(row, at);
    if (!is_tested_pair(figures)) return figures.back().value;
    return to_screen_value(metric(at), figures.back().test_result->candidate_mean);
  }
  double earlier_value(const ScreenRow& row, std::size_t at) const {
    if (!is_comparison()) return 0;
    const auto figures = screen_->figures(row, at);
    if (!is_tested_pair(figures)) return figures.front().value;
    return to_screen_value(metric(at), figures.back().test_result->baseline_mean);
  }
  // A tested difference counts only if it is significant.
  bool may_be_finding(const ScreenRow& row, std::size_t at) const {
    const auto& test_result = screen_->figures(row, at).back().test_result;
    return !test_result || test_result->is_significant;
  }
  bool exceeds(double figure, double earlier, double minimum) const {
    return exceeds_threshold(*report_, figure, earlier, minimum);
  }
  bool exceeds(const ScreenRow& row, std::size_t at, double minimum) const {
    return may_be_finding(row, at) &&
           exceeds(current_value(row, at), earlier_value(row, at), minimum);
  }
  std::span<const RunFacts> last_runs() const { return report_->runs(report_->sides().size() - 1); }
  double window_seconds() const {
    return static_cast<double>(report_->sides().back().window->length_ns) / 1e9;
  }
  std::string duration_in_window(double percent) const {
    return format_finding_seconds(percent / 100 * window_seconds());
  }
  std::string window_duration() const { return format_finding_seconds(window_seconds()); }
  std::string unit(std::size_t at) const {
    const bool is_percent = screen_->columns[at].headline.shown == CTPROF_SHOWN_PERCENT;
    return is_percent ? "percent" : metric(at).unit;
  }
  // Returns for example "; %wait 0.4→187 since the first window".
  std::string describe_change(const ScreenRow& row, std::size_t at) const {
    if (!is_comparison()) return {};
    const double ends[] = {earlier_value(row, at), current_value(row, at)};
    return "; " + screen_->columns[at].headline.label + " " + format_brief_steps(ends, unit(at));
  }

  void add(std::string_view rule, const ScreenRow& row, std::string statement, double weight,
           NextStep next) {
    findings_.push_back({rule, row.group, report_->grouping().names[row.group],
                         std::move(statement), std::isnan(weight) ? 0 : weight, next});
  }

  void find_wait(const ScreenRow& row) {
    if (!run_ || !wait_) return;
    const double wait_share = current_value(row, *wait_), run_share = current_value(row, *run_);
    if (!exceeds(row, *wait_, kMinWait)) return;
    if (!(wait_share >= kMinWaitShare * (run_share + wait_share))) return;
    add("wait", row,
        "waited " + duration_in_window(wait_share) + " for a CPU in " + window_duration() + " (" +
            format_finding_percent(wait_share / (run_share + wait_share)) +
            " of the time that it was runnable)" + describe_busiest_groups(row) +
            describe_change(row, *wait_),
        screen_->share(row, *wait_), NextStep::Threads);
  }

  // Returns the groups that ran most during the wait.
  std::string describe_busiest_groups(const ScreenRow& waiting) {
    constexpr std::size_t kMaxNamedGroups = 2;
    if (!busiest_) find_busiest(kMaxNamedGroups + 1);
    std::string text;
    std::size_t named = 0;
    for (const auto& [ran, group] : *busiest_) {
      if (group == waiting.group || named == kMaxNamedGroups) continue;
      text += (named++ == 0 ? ", while " : " and ") + name_of(group) + " ran for " +
              duration_in_window(-ran);
    }
    return text;
  }

  void find_busiest(std::size_t count) {
    auto& found = busiest_.emplace();
    for (const ScreenRow& row : screen_->rows)
      if (current_value(row, *run_) >= kMinWait)
        found.emplace_back(-current_value(row, *run_), row.group);
    std::ranges::sort(found);
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

  void find_io(const ScreenRow& row) {
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const ScreenColumn& column = screen_->columns[at];
      if (column.headline.shown != CTPROF_SHOWN_RATE || metric(at).unit != "bytes") continue;
      const double share = column.weight.share_of(current_value(row, at));
      if (!may_be_finding(row, at) ||
          !exceeds(share, column.weight.share_of(earlier_value(row, at)), kMinIo))
        continue;
      add("io", row,
          "moved " + format_brief(current_value(row, at), "bytes") + "B per second (" +
              column.headline.label + "), while the disks were busy for " +
              format_finding_percent(screen_->machine.disk_busy) + " of the time" +
              describe_change(row, at),
          share, NextStep::Waits);
    }
  }

  // Processes that start or exit also change the memory of their group, but are no growth. For a
  // side with several runs, the processes are unknown, and the change of the group is used.
  void find_memory(const ScreenRow& row) {
    if (!resident_ || row.is_new()) return;
    const double size = screen_->machine.memory_bytes;
    const double minimum = size > 0 ? std::max(kMinGrowth, kMinGrowthShare * size) : kMinGrowth;
    const auto figures = screen_->figures(row, *resident_);
    const ScreenFigure& last = figures.back();
    const double inside =
        are_processes_known() ? std::min(last.change, signs(row).lasting_growth()) : last.change;
    const double between =
        is_comparison() && may_be_finding(row, *resident_) ? growth_between(row) : 0;
    const bool is_inside = exceeds(inside, figures.front().change, minimum);
    if (last.is_new || !(is_inside || between >= minimum)) return;
    const double growth = is_inside ? inside : between;
    add("memory", row,
        "grew by " + format_brief(growth, "bytes") + "B " +
            (is_inside ? "in " + window_duration() : "between the windows") + ", to " +
            format_brief(current_value(row, *resident_), "bytes") + "B",
        screen_->columns[*resident_].weight.share_of(growth), NextStep::Threads);
  }

  bool are_processes_known() const { return last_runs().size() == 1; }
  const GroupSigns& signs(const ScreenRow& row) const {
    return report_->signs(report_->sides().size() - 1)[row.group];
  }

  // Returns the growth of processes that exist in both windows; if there are none, the growth of
  // the group if each window has the same processes throughout.
  double growth_between(const ScreenRow& row) const {
    const GroupSigns &first = report_->signs(0)[row.group], &last = signs(row);
    const double all = current_value(row, *resident_) - earlier_value(row, *resident_);
    if (const auto growth = last.growth_since(first)) return std::min(all, *growth);
    const auto changed = [](const GroupSigns& side) {
      return side.processes_started + side.processes_exited;
    };
    const bool is_job = std::ranges::any_of(last.large_processes,
                                            [](const LastingProcess& one) { return one.is_job; });
    return changed(first) + changed(last) > 0 || is_job ? 0 : all;
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
        screen_->share(row, *run_), NextStep::Threads);
  }

  double first_seconds() const {
    return std::max(static_cast<double>(report_->sides().front().window->length_ns) / 1e9, 0.001);
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

  void find_settings(const ScreenRow& row) {
    if (!is_comparison() || row.score < kMinEffect || !may_be_finding(row, row.score_column))
      return;
    const std::size_t side = report_->sides().size() - 1;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at) {
      const PlannedMetric& setting = report_->metrics()[at];
      if (!setting.is_setting || setting.entity == Entity::Host) continue;
      if (report_->changes().change(row.group, at, side).state != ChangeState::Changed) continue;
      const auto text = [&](std::size_t side_index) {
        return report_->rollup().text({side_index, row.group, at});
      };
      add("setting", row,
          setting.name + " " + text(0) + " → " + text(side) +
              describe_change(row, row.score_column),
          kWeightOfSetting * row.score, NextStep::Settings);
    }
  }

  void find_throttled() {
    const auto share_of = [](std::span<const RunFacts> runs, const std::string& cgroup) {
      return median_of_runs(runs, [&](const RunFacts& run) {
        const HostLoad& load = run.window->load;
        return load.throttled_cgroup == cgroup ? load.max_throttled : 0;
      });
    };
    std::string most_throttled;
    for (const RunFacts& run : last_runs())
      if (const std::string& cgroup = run.window->load.throttled_cgroup;
          share_of(last_runs(), cgroup) > share_of(last_runs(), most_throttled))
        most_throttled = cgroup;
    const double share = share_of(last_runs(), most_throttled);
    if (!exceeds(share, is_comparison() ? share_of(report_->runs(0), most_throttled) : 0,
                 kMinThrottled))
      return;
    findings_.push_back({"throttled",
                         {},
                         most_throttled,
                         "was throttled for " + duration_in_window(100 * share) + " in " +
                             window_duration() + " by its CPU quota",
                         std::min(share / std::max(screen_->machine.cpus, 1.0), 1.0),
                         NextStep::Cgroups});
  }

  void find_pressure() {
    for (const auto& [part, what] :
         {std::pair(&HostLoad::memory_pressure, "memory"), {&HostLoad::io_pressure, "a disk"}}) {
      const auto pressure_of = [part = part](const RunFacts& run) {
        return (run.window->load.*part).value_or(kNaN);
      };
      const double share = median_of_runs(last_runs(), pressure_of);
      const double earlier = is_comparison() ? median_of_runs(report_->runs(0), pressure_of) : 0;
      if (!exceeds(share, earlier, kMinPressure)) continue;
      findings_.push_back({"pressure",
                           {},
                           "the host",
                           "had a thread that waited for " + std::string(what) + " for " +
                               format_finding_percent(share) + " of the time",
                           share / std::max(screen_->machine.cpus, 1.0),
                           NextStep::Waits});
    }
  }

  // Too few CPUs for all groups are one cause. The group that waited most becomes the subject, and
  // the next one is named.
  void merge_wait_findings() {
    const auto is_wait = [](const Finding& one) { return one.rule == "wait"; };
    const auto first = std::ranges::find_if(findings_, is_wait);
    if (first == findings_.end()) return;
    const auto next = std::find_if(first + 1, findings_.end(), is_wait);
    if (next == findings_.end()) return;
    const auto more = std::count_if(next + 1, findings_.end(), is_wait);
    first->statement += "; " + readable_key(next->subject);
    if (more > 0)
      first->statement += " and " + format_count(static_cast<std::uint64_t>(more), "other group");
    first->statement += " also waited";
    findings_.erase(std::remove_if(first + 1, findings_.end(), is_wait), findings_.end());
  }

  // The CPU time of a group is part of its other findings.
  void drop_explained_cpu() {
    std::set<std::optional<std::uint32_t>> explained_groups;
    for (const Finding& one : findings_)
      if (one.rule != "cpu") explained_groups.insert(one.group);
    std::erase_if(findings_, [&](const Finding& one) {
      return one.rule == "cpu" && explained_groups.contains(one.group);
    });
  }

  // Drops the second of two findings of a group, because it is part of the first.
  void drop_explained(std::string_view explaining_rule, std::string_view explained_rule) {
    std::set<std::optional<std::uint32_t>> explained_groups;
    for (const Finding& one : findings_)
      if (one.rule == explaining_rule) explained_groups.insert(one.group);
    std::erase_if(findings_, [&](const Finding& one) {
      return one.rule == explained_rule && explained_groups.contains(one.group);
    });
  }

  std::vector<Finding> sort_and_limit() {
    std::ranges::stable_sort(findings_, [](const Finding& a, const Finding& b) {
      return std::tuple(-a.weight, std::string_view(a.subject), a.rule) <
             std::tuple(-b.weight, std::string_view(b.subject), b.rule);
    });
    merge_wait_findings();
    drop_explained_cpu();
    drop_explained("blocked", "stuck");
    drop_explained("zombies", "threads");
    std::set<std::pair<std::string_view, std::string>> reported;
    std::erase_if(findings_, [&](const Finding& one) {
      return !reported.emplace(one.rule, one.subject).second;
    });
    if (findings_.size() > kMaxFindings) findings_.resize(kMaxFindings);
    return std::move(findings_);
  }

  const Report* report_;
  const Screen* screen_;
  std::optional<std::size_t> run_, wait_, resident_;
  // The groups that ran most, with negated values; computed for the first group that waited.
  std::optional<std::vector<std::pair<double, std::uint32_t>>> busiest_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> find_causes(const Report& report) {
  return report.screen() ? CauseFinder(report).find() : std::vector<Finding>{};
}

}  // namespace ctprof
