#include "core/compare/report/findings.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

// Thresholds; finding_rules.cc contains them as text. Percentages are of one CPU.
constexpr double kLeastWait = 20, kLeastWaitShare = 0.25;
constexpr double kLeastBlocked = 5;
constexpr double kLeastIo = 0.1;
constexpr double kLeastGrowth = 64 << 20, kLeastGrowthShare = 0.005;
constexpr double kLeastMoreThreadsShare = 0.5, kMostExitedShare = 0.5;
constexpr double kLeastStarts = 20, kLeastStartsCpu = 5;
constexpr double kLeastCpuChange = 20;
constexpr double kLeastThrottled = 0.05;
constexpr double kLeastPressure = 0.1;
constexpr double kLeastEffect = 0.02;
// A setting explains the changes that it caused, so it precedes other findings on the group.
constexpr double kWeightOfSetting = 1.1;
class Causes {
 public:
  explicit Causes(const Report& report) : report_(&report), screen_(report.screen()) {
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const std::string& role = metric(at).role;
      if (role == "run-time") run_ = at;
      if (role == "wait-time") wait_ = at;
      if (role == "resident") resident_ = at;
    }
  }

  std::vector<Finding> find() {
    for (const ScreenRow& row : screen_->rows) {
      if (row.threads.back().all() == 0) continue;
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
    find_by_signs(*report_, found_);
    return in_order();
  }

 private:
  const PlannedMetric& metric(std::size_t at) const {
    return report_->metrics()[screen_->columns[at].metric];
  }
  bool compares() const { return report_->compares(); }
  // Returns the value that the table of the screen shows: for a tested row the value to which the
  // shift leads, otherwise the median (render/shown_figures.hpp).
  double now(const ScreenRow& row, std::size_t at) const {
    const auto figures = screen_->figures(row, at);
    const auto& proof = figures.back().proof;
    return proof && figures.size() == 2 ? screen_figure(metric(at), proof->after)
                                        : figures.back().value;
  }
  double before(const ScreenRow& row, std::size_t at) const {
    if (!compares()) return 0;
    const auto figures = screen_->figures(row, at);
    const auto& proof = figures.back().proof;
    return proof && figures.size() == 2 ? screen_figure(metric(at), proof->before)
                                        : figures.front().value;
  }
  // A tested difference counts only if it is significant.
  bool may_be_finding(const ScreenRow& row, std::size_t at) const {
    const auto& proof = screen_->figures(row, at).back().proof;
    return !proof || proof->proven;
  }
  bool reaches(double figure, double was, double least) const {
    return is_finding(*report_, figure, was, least);
  }
  bool reaches(const ScreenRow& row, std::size_t at, double least) const {
    return may_be_finding(row, at) && reaches(now(row, at), before(row, at), least);
  }
  std::span<const RunFacts> last_runs() const { return report_->runs(report_->sides().size() - 1); }
  double window_seconds() const {
    return static_cast<double>(report_->sides().back().window->length_ns) / 1e9;
  }
  std::string in_window(double percent) const {
    return seconds_in_words(percent / 100 * window_seconds());
  }
  std::string of_window() const { return seconds_in_words(window_seconds()); }
  std::string unit(std::size_t at) const {
    const bool is_percent = screen_->columns[at].headline.shown == CTPROF_SHOWN_PERCENT;
    return is_percent ? "percent" : metric(at).unit;
  }
  // Returns for example "; %wait 0.4→187 since the first window".
  std::string since(const ScreenRow& row, std::size_t at) const {
    if (!compares()) return {};
    const double ends[] = {before(row, at), now(row, at)};
    return "; " + screen_->columns[at].headline.label + " " + brief_steps(ends, unit(at));
  }

  void add(std::string_view rule, const ScreenRow& row, std::string what, double weight,
           NextStep next) {
    found_.push_back({rule, row.group, report_->grouping().names[row.group], std::move(what),
                      std::isnan(weight) ? 0 : weight, next});
  }

  void find_wait(const ScreenRow& row) {
    if (!run_ || !wait_) return;
    const double waited = now(row, *wait_), ran = now(row, *run_);
    if (!reaches(row, *wait_, kLeastWait)) return;
    if (!(waited >= kLeastWaitShare * (ran + waited))) return;
    add("wait", row,
        "waited " + in_window(waited) + " for a CPU in " + of_window() + " (" +
            percent_in_words(waited / (ran + waited)) + " of the time that it wanted one)" +
            who_ran(row) + since(row, *wait_),
        screen_->share(row, *wait_), NextStep::Threads);
  }

  // Returns the groups that ran most during the wait.
  std::string who_ran(const ScreenRow& waiting) {
    constexpr std::size_t kMost = 2;
    if (!busiest_) find_busiest(kMost + 1);
    std::string text;
    std::size_t named = 0;
    for (const auto& [ran, group] : *busiest_) {
      if (group == waiting.group || named == kMost) continue;
      text +=
          (named++ == 0 ? ", while " : " and ") + name_of(group) + " ran for " + in_window(-ran);
    }
    return text;
  }

  void find_busiest(std::size_t most) {
    auto& found = busiest_.emplace();
    for (const ScreenRow& row : screen_->rows)
      if (now(row, *run_) >= kLeastWait) found.emplace_back(-now(row, *run_), row.group);
    std::ranges::sort(found);
    found.resize(std::min(most, found.size()));
  }

  std::string name_of(std::uint32_t group) const {
    return readable_key(report_->grouping().names[group]);
  }

  // Uses any column of blocked time. A group counts once, with its largest value. Kernel threads
  // are excluded, because they are blocked while they have no work.
  void find_blocked(const ScreenRow& row) {
    if (row.threads.back().kernel == row.threads.back().all()) return;
    std::optional<std::size_t> most;
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const Headline& headline = screen_->columns[at].headline;
      const bool is_blocked = headline.shown == CTPROF_SHOWN_PERCENT && !headline.by_change &&
                              at != run_ && at != wait_ && !metric(at).is_third_party;
      if (is_blocked && reaches(row, at, kLeastBlocked) &&
          (!most || now(row, at) > now(row, *most)))
        most = at;
    }
    if (!most) return;
    add("blocked", row,
        "was blocked for " + in_window(now(row, *most)) + " in " + of_window() + " (" +
            screen_->columns[*most].headline.label + ")" + since(row, *most),
        screen_->share(row, *most), NextStep::Waits);
  }

  void find_io(const ScreenRow& row) {
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      const ScreenColumn& column = screen_->columns[at];
      if (column.headline.shown != CTPROF_SHOWN_RATE || metric(at).unit != "bytes") continue;
      const double share = column.weight.share_of(now(row, at));
      if (!may_be_finding(row, at) ||
          !reaches(share, column.weight.share_of(before(row, at)), kLeastIo))
        continue;
      add("io", row,
          "moved " + brief(now(row, at), "bytes") + "B per second (" + column.headline.label +
              "), while the disks were busy for " + percent_in_words(screen_->machine.disk_busy) +
              " of the time" + since(row, at),
          share, NextStep::Waits);
    }
  }

  // Processes that start or exit also change the memory of their group, but are no growth. For a
  // side with several runs, the processes are unknown, and the change of the group is used.
  void find_memory(const ScreenRow& row) {
    if (!resident_ || row.is_new()) return;
    const double size = screen_->machine.memory_bytes;
    const double least = size > 0 ? std::max(kLeastGrowth, kLeastGrowthShare * size) : kLeastGrowth;
    const auto figures = screen_->figures(row, *resident_);
    const ScreenFigure& last = figures.back();
    const double inside =
        knows_processes() ? std::min(last.change, signs(row).lasting_growth()) : last.change;
    const double between = compares() && may_be_finding(row, *resident_) ? growth_between(row) : 0;
    const bool is_inside = reaches(inside, figures.front().change, least);
    if (last.is_new || !(is_inside || between >= least)) return;
    const double growth = is_inside ? inside : between;
    add("memory", row,
        "grew by " + brief(growth, "bytes") + "B " +
            (is_inside ? "in " + of_window() : "between the windows") + ", to " +
            brief(now(row, *resident_), "bytes") + "B",
        screen_->columns[*resident_].weight.share_of(growth), NextStep::Threads);
  }

  bool knows_processes() const { return last_runs().size() == 1; }
  const GroupSigns& signs(const ScreenRow& row) const {
    return report_->signs(report_->sides().size() - 1)[row.group];
  }

  // Returns the growth of processes that exist in both windows; if there are none, the growth of
  // the group if each window has the same processes throughout.
  double growth_between(const ScreenRow& row) const {
    const GroupSigns &first = report_->signs(0)[row.group], &last = signs(row);
    const double all = now(row, *resident_) - before(row, *resident_);
    if (const auto growth = last.growth_since(first)) return std::min(all, *growth);
    const auto changed = [](const GroupSigns& side) {
      return side.processes_started + side.processes_exited;
    };
    const bool is_job =
        std::ranges::any_of(last.large, [](const LastingProcess& one) { return one.is_job; });
    return changed(first) + changed(last) > 0 || is_job ? 0 : all;
  }

  void find_threads(const ScreenRow& row) {
    const ScreenThreads& last = row.threads.back();
    const double then = compares() && row.threads.front().all() > 0
                            ? row.threads.front().living
                            : last.living - thread_growth(last);
    const double more = last.living - then;
    if (then < 1 || more < kThreadsFloor || more < kLeastMoreThreadsShare * then) return;
    if (last.ended > kMostExitedShare * std::max(last.born, more))
      return;  // threads start and exit continuously
    add("threads", row,
        "has " + count_text(last.living) + " threads, " + count_text(more) + " more than " +
            (compares() ? "in the first window" : "when the window opened"),
        row.score, NextStep::Threads);
  }

  void find_starts(const ScreenRow& row) {
    if (!run_) return;
    const ScreenThreads& last = row.threads.back();
    const double rate = std::min(last.born, last.ended) / std::max(window_seconds(), 0.001);
    const auto& first = row.threads.front();
    const double was = compares() ? std::min(first.born, first.ended) / first_seconds() : 0;
    if (!reaches(rate, was, kLeastStarts) || !(now(row, *run_) >= kLeastStartsCpu)) return;
    add("starts", row,
        "started " + count_text(last.born) + " threads or processes in " + of_window() +
            ", and ran for " + in_window(now(row, *run_)) + since(row, *run_),
        screen_->share(row, *run_), NextStep::Threads);
  }

  double first_seconds() const {
    return std::max(static_cast<double>(report_->sides().front().window->length_ns) / 1e9, 0.001);
  }

  void find_cpu(const ScreenRow& row) {
    if (!compares() || !run_) return;
    const double more = now(row, *run_) - before(row, *run_);
    if (!(more >= kLeastCpuChange) || !reaches(row, *run_, 0)) return;
    add("cpu", row,
        "ran for " + in_window(now(row, *run_)) + " in " + of_window() + since(row, *run_),
        screen_->share(row, *run_), NextStep::Threads);
  }

  void find_settings(const ScreenRow& row) {
    if (!compares() || row.score < kLeastEffect || !may_be_finding(row, row.decided_by)) return;
    const std::size_t side = report_->sides().size() - 1;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at) {
      const PlannedMetric& setting = report_->metrics()[at];
      if (!setting.setting || setting.entity == Entity::Host) continue;
      if (report_->changes().of(row.group, at, side).moved != Moved::Yes) continue;
      const auto text = [&](std::size_t of) { return report_->rollup().text({of, row.group, at}); };
      add("setting", row,
          setting.name + " " + text(0) + " → " + text(side) + since(row, row.decided_by),
          kWeightOfSetting * row.score, NextStep::Settings);
    }
  }

  void find_throttled() {
    const auto share_of = [](std::span<const RunFacts> runs, const std::string& cgroup) {
      return median_of_runs(runs, [&](const RunFacts& run) {
        const HostLoad& load = run.window->load;
        return load.throttled_cgroup == cgroup ? load.throttled_most : 0;
      });
    };
    std::string most;
    for (const RunFacts& run : last_runs())
      if (const std::string& cgroup = run.window->load.throttled_cgroup;
          share_of(last_runs(), cgroup) > share_of(last_runs(), most))
        most = cgroup;
    const double share = share_of(last_runs(), most);
    if (!reaches(share, compares() ? share_of(report_->runs(0), most) : 0, kLeastThrottled)) return;
    found_.push_back(
        {"throttled",
         {},
         most,
         "stood still for " + in_window(100 * share) + " in " + of_window() + " for lack of quota",
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
      const double was = compares() ? median_of_runs(report_->runs(0), pressure_of) : 0;
      if (!reaches(share, was, kLeastPressure)) continue;
      found_.push_back({"pressure",
                        {},
                        "the host",
                        "had a thread that waited for " + std::string(what) + " for " +
                            percent_in_words(share) + " of the time",
                        share / std::max(screen_->machine.cpus, 1.0),
                        NextStep::Waits});
    }
  }

  // Too few CPUs for all groups are one cause. The group that waited most becomes the subject, and
  // the next one is named.
  void join_waits() {
    const auto is_wait = [](const Finding& one) { return one.rule == "wait"; };
    const auto first = std::ranges::find_if(found_, is_wait);
    if (first == found_.end()) return;
    const auto next = std::find_if(first + 1, found_.end(), is_wait);
    if (next == found_.end()) return;
    const auto more = std::count_if(next + 1, found_.end(), is_wait);
    first->what += "; so did " + readable_key(next->who);
    if (more > 0)
      first->what += " and " + std::to_string(more) + " other " + (more == 1 ? "group" : "groups");
    found_.erase(std::remove_if(first + 1, found_.end(), is_wait), found_.end());
  }

  // The CPU time of a group is part of its other findings.
  void drop_repeated_cpu() {
    std::set<std::optional<std::uint32_t>> explained;
    for (const Finding& one : found_)
      if (one.rule != "cpu") explained.insert(one.group);
    std::erase_if(found_, [&](const Finding& one) {
      return one.rule == "cpu" && explained.contains(one.group);
    });
  }

  // Drops the second of two findings of a group, because it is part of the first.
  void drop_part(std::string_view whole, std::string_view part) {
    std::set<std::optional<std::uint32_t>> explained;
    for (const Finding& one : found_)
      if (one.rule == whole) explained.insert(one.group);
    std::erase_if(found_, [&](const Finding& one) {
      return one.rule == part && explained.contains(one.group);
    });
  }

  std::vector<Finding> in_order() {
    std::ranges::stable_sort(found_, [](const Finding& a, const Finding& b) {
      return std::tuple(-a.weight, std::string_view(a.who), a.rule) <
             std::tuple(-b.weight, std::string_view(b.who), b.rule);
    });
    join_waits();
    drop_repeated_cpu();
    drop_part("blocked", "stuck");
    drop_part("zombies", "threads");
    std::set<std::pair<std::string_view, std::string>> known;
    std::erase_if(found_,
                  [&](const Finding& one) { return !known.emplace(one.rule, one.who).second; });
    if (found_.size() > kMostFindings) found_.resize(kMostFindings);
    return std::move(found_);
  }

  const Report* report_;
  const Screen* screen_;
  std::optional<std::size_t> run_, wait_, resident_;
  // The groups that ran most, with negated values; computed for the first group that waited.
  std::optional<std::vector<std::pair<double, std::uint32_t>>> busiest_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> find_causes(const Report& report) {
  return report.screen() ? Causes(report).find() : std::vector<Finding>{};
}

}  // namespace ctprof
