#include "core/compare/report/sign_findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/finding_thresholds.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

// Thresholds; finding_rules.cc contains them as text.
constexpr double kMinGrowthFactor = 1.5;
constexpr double kMinShortWaits = 0.2;
constexpr double kMinUnexplainedWaits = 1000;  // per second, of all threads of a process
constexpr double kMinWaitsOfOneThread = 5000;  // per second, of a process with one such thread
constexpr double kMinSharedLoad = 0.01;
constexpr double kMinZombies = 10;
constexpr double kMinInterrupts = 0.2, kMinOwnShare = 0.1;
constexpr double kMinRunOfUnnamed = 0.1, kMinUnnamedShare = 0.3;
// These findings follow all others: their weight is below the smallest growth of memory that is
// reported.
constexpr double kWeightOfUnknownCauses = 0.9 * kMinGrowthShare;
constexpr double kWeightOfNameFindings = 0.8 * kMinGrowthShare;
constexpr double kMinWakeUps = 10'000;  // per second, of all threads of a process

// An interpreter that executes program functions in its own function. With the option, the program
// functions have names.
struct Interpreter {
  std::string_view function, language, option;
};
constexpr std::array kInterpreters{
    Interpreter{"_PyEval_EvalFrameDefault", "Python", "python3 -X perf (3.12 or later)"},
    Interpreter{"rb_vm_exec", "Ruby", "ruby --yjit --yjit-perf"},
};
constexpr std::string_view kOptionsForCompiledNames =
    "node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, or what its runtime offers";

std::string format_milliseconds(double ns) { return format_fixed(ns / 1e6, 2) + " ms"; }

// Formats a count that can be a median.
std::string format_median_count(double count, const std::string& noun) {
  return format_decimal_count(count) + " " + inflect(count, noun);
}

class SignFindings {
 public:
  SignFindings(const Report& report, std::vector<Finding>& found)
      : report_(&report), screen_(report.screen()), findings_(&found) {}

  void find() {
    if (is_earlier_known()) find_in_groups();
    for (const ScreenRow& row : screen_->rows) find_unnamed(row);
    find_interrupts();
  }

 private:
  bool is_comparison() const { return report_->is_comparison(); }
  // A first side with several runs has no signs, so a state of the last side may not be new.
  bool is_earlier_known() const { return !is_comparison() || report_->runs(0).size() == 1; }
  std::span<const RunFacts> last_runs() const { return report_->runs(report_->sides().size() - 1); }
  const GroupSigns& current_signs(std::uint32_t group) const {
    return report_->signs(report_->sides().size() - 1)[group];
  }
  const GroupSigns& earlier_signs(std::uint32_t group) const {
    static const GroupSigns kNone;
    return is_comparison() ? report_->signs(0)[group] : kNone;
  }
  const WindowFacts& window() const { return *report_->sides().back().window; }
  double window_ns() const { return window().rates_over_ns; }
  // Returns the total length of the windows of all runs of the last side.
  double windows_ns() const {
    double sum = 0;
    for (const RunFacts& run : last_runs()) sum += run.window->rates_over_ns;
    return sum;
  }
  double first_window_ns() const { return report_->sides().front().window->rates_over_ns; }
  std::string of_window() const {
    return format_finding_seconds(static_cast<double>(window().length_ns) / kNsPerSecond);
  }
  // Returns the share of the machine's CPU time.
  double share(double ns) const {
    const double capacity_ns = window_ns() * std::max(screen_->machine.cpus, 1.0);
    return capacity_ns > 0 ? std::min(ns / capacity_ns, 1.0) : 0;
  }
  bool exceeds(double figure, double earlier_figure, double threshold) const {
    return exceeds_threshold(*report_, figure, earlier_figure, threshold);
  }
  void add(std::string_view rule, std::uint32_t group, std::string statement, double weight,
           NextStep next) {
    findings_->push_back(
        {rule, group, report_->grouping().names[group], std::move(statement), weight, next});
  }
  void add_host_finding(std::string_view rule, std::string subject, std::string statement,
                        double weight, NextStep next) {
    findings_->push_back({rule, {}, std::move(subject), std::move(statement), weight, next});
  }

  void find_in_groups() {
    for (std::uint32_t group = 0; group < report_->grouping().names.size(); ++group) {
      find_short_waits(group);
      find_odd_thread(group);
      find_states(group);
    }
    add_unexplained();
    find_own_cost();
  }

  // Returns a time of the first window, scaled to the length of the last.
  double scale_to_window(double earlier_ns) const {
    return earlier_ns * window_ns() / std::max(first_window_ns(), 1.0);
  }

  // Short waits without stacks have no known cause: threads that wait for a lock, for each other,
  // for input or for a short time switch equally often.
  void find_short_waits(std::uint32_t group) {
    const ShortWaits &waits = current_signs(group).short_waits,
                     &earlier = earlier_signs(group).short_waits;
    const double least = kMinShortWaits * window_ns();
    const double earlier_blocked_ns = scale_to_window(earlier.all.blocked_ns);
    const bool is_contended =
        waits.of_locks.threads > 1 &&
        exceeds(waits.lock_ns,
                earlier.explained_ns > 0 ? scale_to_window(earlier.lock_ns) : earlier_blocked_ns,
                least);
    const bool is_unexplained =
        waits.explained_ns < waits.all.blocked_ns / 2 &&
        waits.all.waits >= min_unexplained_waits(waits.all) * window_ns() / kNsPerSecond &&
        exceeds(waits.all.blocked_ns, earlier_blocked_ns, least);
    if (is_contended)
      add_lock(group, waits);
    else if (is_unexplained && !is_explained_by_disk(group))
      unexplained_.emplace_back(-waits.all.waits, group);
  }

  // A window alone does not show whether one thread waits too often.
  double min_unexplained_waits(const WaitingThreads& waiting) const {
    if (waiting.threads > 1) return kMinUnexplainedWaits;
    return is_comparison() ? kMinWaitsOfOneThread : std::numeric_limits<double>::infinity();
  }

  std::string describe_waits(const WaitingThreads& waiting) const {
    return format_brief(waiting.waits / (window_ns() / kNsPerSecond), "count") +
           " times per second, " + format_milliseconds(waiting.blocked_ns / waiting.waits) +
           " each";
  }

  void add_lock(std::uint32_t group, const ShortWaits& waits) {
    add("lock", group,
        "has " + format_median_count(waits.of_locks.threads, "thread") +
            " that waited for a lock for " + format_finding_seconds(waits.lock_ns / kNsPerSecond) +
            " in " + of_window() +
            (waits.of_locks.waits > 0 ? " (blocked " + describe_waits(waits.of_locks) + ")" : "") +
            describe_syncs(waits),
        share(std::min(waits.lock_ns, window_ns())), NextStep::Threads);
  }

  // A lock holder that syncs a file makes the other threads wait for the disk. Stacks do not show
  // which thread holds the lock.
  std::string describe_syncs(const ShortWaits& waits) const {
    if (waits.sync_ns < kMinBlocked / 100 * window_ns()) return {};
    return "; one or another of them was blocked for " +
           format_finding_seconds(waits.sync_ns / kNsPerSecond) +
           " until the disk had written (fsync or a similar call)";
  }

  // The rules about groups ran before this one. They report groups that were blocked on a disk or
  // memory, and groups that wrote to a disk.
  bool is_explained_by_disk(std::uint32_t group) const {
    return std::ranges::any_of(*findings_, [&](const Finding& one) {
      return one.group == group && (one.rule == "blocked" || one.rule == "io");
    });
  }

  // All groups with unexplained waits are one finding, because one recording explains all of them.
  void add_unexplained() {
    if (unexplained_.empty()) return;
    std::ranges::sort(unexplained_);
    const std::uint32_t group = unexplained_.front().second;
    const WaitingThreads& waits = current_signs(group).short_waits.all;
    std::string also;
    if (unexplained_.size() > 1)
      also = "; so was " + readable_key(report_->grouping().names[unexplained_[1].second]);
    if (unexplained_.size() > 2)
      also = "; so were " + readable_key(report_->grouping().names[unexplained_[1].second]) +
             " and " + format_count(unexplained_.size() - 2, "other group");
    add("short-waits", group,
        "was blocked " + describe_waits(waits) + ", in " +
            format_median_count(waits.threads, "thread") +
            "; only stacks show whether for a lock, a timer or input" + also,
        weigh_unexplained(group, waits), NextStep::Waits);
  }

  // Many wake-ups explain that the group waits for a CPU.
  double weigh_unexplained(std::uint32_t group, const WaitingThreads& waits) const {
    const bool is_often = waits.waits >= kMinWakeUps * window_ns() / kNsPerSecond &&
                          waits.runnable_ns <= kMaxShortWaitForCpuNs * waits.waits;
    for (const Finding& one : *findings_)
      if (is_often && one.group == group && one.rule == "wait") return kWeightOfCause * one.weight;
    return kWeightOfUnknownCauses;
  }

  void find_odd_thread(std::uint32_t group) {
    const auto &signs = current_signs(group), &earlier = earlier_signs(group);
    const auto &odd = signs.odd_thread, &was = earlier.odd_thread;
    if (odd && !(was && was->is_waiting == odd->is_waiting)) return add_odd_thread(group, *odd);
    const bool was_shared =
        is_comparison() && earlier.shared_load_ns >= kMinSharedLoad * first_window_ns();
    if (signs.lone_thread && was_shared && !earlier.lone_thread)
      add_odd_thread(group, *signs.lone_thread);
  }

  void add_odd_thread(std::uint32_t group, const OddThread& odd) {
    const double per_second = kNsPerSecond;
    add("one-of-many", group,
        "has a thread (" + odd.name + ", " + std::to_string(odd.tid) + ") that " +
            (odd.is_waiting ? "waited for a CPU for " : "ran for ") +
            format_finding_seconds(odd.figure_ns / per_second) + " in " + of_window() +
            ", the median of " + std::to_string(odd.similar_threads + 1) + " similar threads is " +
            format_finding_seconds(odd.median_ns / per_second),
        share(odd.figure_ns - odd.median_ns), NextStep::Threads);
  }

  void find_states(std::uint32_t group) {
    const GroupSigns &signs = current_signs(group), &was = earlier_signs(group);
    if (exceeds(signs.zombies, was.zombies, kMinZombies))
      add("zombies", group,
          "has " + format_median_count(signs.zombies, "zombie") +
              ": processes that exited and whose parent did not wait for them",
          kWeightOfCountFindings, NextStep::States);
    if (exceeds(signs.stuck_threads, was.stuck_threads, 1))
      add("stuck", group,
          "has " + format_median_count(signs.stuck_threads, "thread") +
              " in state D (uninterruptible) when the window opened and when it closed, without "
              "running in between",
          share(window_ns()), NextStep::States);
  }

  static double interrupts_of(const RunFacts& run) {
    const auto& accounting = run.window->accounting;
    return accounting && accounting->wall > 0 ? accounting->interrupts / accounting->wall : kNaN;
  }

  void find_interrupts() {
    const double figure = median_of_runs(last_runs(), &interrupts_of);
    const double was = is_comparison() ? median_of_runs(report_->runs(0), &interrupts_of) : 0;
    if (!exceeds(figure, was, kMinInterrupts)) return;
    add_host_finding("interrupts", "the host",
                     "spent " + format_finding_percent(figure) +
                         " of a CPU in interrupts and softirqs (network, disks, timers)",
                     share(figure * window_ns()), NextStep::Figures);
    const auto metric = std::ranges::find(report_->metrics(), "host-softirq", &PlannedMetric::role);
    if (metric != report_->metrics().end()) findings_->back().section = metric->section;
  }

  double recorder_cpu_share(std::size_t side) const {
    double sum = 0;
    for (const GroupSigns& signs : report_->signs(side)) sum += signs.own_cpu_ns;
    const double ns = report_->sides()[side].window->rates_over_ns;
    return ns > 0 ? sum / ns : 0;
  }

  void find_own_cost() {
    const double figure = recorder_cpu_share(report_->sides().size() - 1);
    if (!exceeds(figure, is_comparison() ? recorder_cpu_share(0) : 0, kMinOwnShare)) return;
    add_host_finding("own-cost", "ctprof",
                     "itself ran for " + format_finding_percent(figure) +
                         " of a CPU; lower rates cost less (record --budget)",
                     share(figure * window_ns()), NextStep::Nothing);
  }

  // The total weight of a group's samples, and the weight in functions without a name.
  struct UnnamedWeights {
    double all = 0, compiled = 0;
    std::array<double, kInterpreters.size()> interpreted{};
  };

  void find_unnamed(const ScreenRow& row) {
    if (!report_->stacks()) return;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at) {
      const PlannedMetric& metric = report_->metrics()[at];
      if (metric.role != "running-stacks" || !metric.has_listable_stacks()) continue;
      const UnnamedWeights unnamed = measure_unnamed({report_->sides().size() - 1, row.group, at});
      if (unnamed.all <= 0 || unnamed.all < kMinRunOfUnnamed * windows_ns()) continue;
      add_unnamed_findings(row.group, unnamed);
    }
  }

  void add_unnamed_findings(std::uint32_t group, const UnnamedWeights& unnamed) {
    std::string statement;
    const auto add_if_large = [&](double ns, const std::string& what, std::string_view option) {
      if (ns < kMinUnnamedShare * unnamed.all) return;
      statement += (statement.empty() ? "" : "; it ") + std::string("ran for ") +
                   format_finding_percent(ns / unnamed.all) + " of its time in " + what +
                   " without names; to record the names, start it with " + std::string(option);
    };
    add_if_large(unnamed.compiled, "JIT-compiled code", kOptionsForCompiledNames);
    for (std::size_t at = 0; at < kInterpreters.size(); ++at)
      add_if_large(unnamed.interpreted[at], std::string(kInterpreters[at].language) + " functions",
                   kInterpreters[at].option);
    if (!statement.empty())
      add("names", group, std::move(statement), kWeightOfNameFindings, NextStep::Nothing);
  }

  UnnamedWeights measure_unnamed(CellPosition at) const {
    UnnamedWeights found;
    for (const RunStacks& run : report_->rollup().stacks(at))
      for (const ctprof_stack& one : run.stacks) add_stack(one, found);
    return found;
  }

  // If another compiled function in the stack has a name, the program has a map of names, and the
  // stack is not counted.
  void add_stack(const ctprof_stack& one, UnnamedWeights& found) const {
    constexpr std::size_t kMaxFunctions = 128;
    const CommonStacks& common = report_->stacks()->common_stacks();
    const auto weight = static_cast<double>(one.weight);
    found.all += weight;
    bool is_compiled = false, is_named = false;
    std::array<bool, kInterpreters.size()> runs_in{};
    for (const std::uint32_t number : common.functions_of(one.stack, kMaxFunctions)) {
      const StackFunction& function = common.functions()[number];
      if (function.module == "[anonymous]") (function.name.empty() ? is_compiled : is_named) = true;
      for (std::size_t at = 0; at < kInterpreters.size(); ++at)
        if (function.name == kInterpreters[at].function) runs_in[at] = true;
    }
    if (is_named) return;
    if (is_compiled) found.compiled += weight;
    for (std::size_t at = 0; at < kInterpreters.size(); ++at)
      if (runs_in[at]) found.interpreted[at] += weight;
  }

  const Report* report_;
  const Screen* screen_;
  std::vector<std::pair<double, std::uint32_t>> unexplained_;  // negated count of waits, and group
  std::vector<Finding>* findings_;
};

}  // namespace

double median_of_runs(std::span<const RunFacts> runs,
                      const std::function<double(const RunFacts&)>& figure) {
  std::vector<double> figures;
  for (const RunFacts& run : runs)
    if (const double one = figure(run); !std::isnan(one)) figures.push_back(one);
  if (figures.empty()) return 0;
  std::ranges::sort(figures);
  const std::size_t half = figures.size() / 2;
  return figures.size() % 2 ? figures[half] : (figures[half - 1] + figures[half]) / 2;
}

std::string format_finding_seconds(double seconds) { return format_fixed(seconds, 1) + " s"; }

std::string format_finding_percent(double share) {
  return std::to_string(std::llround(100 * share)) + " %";
}

bool exceeds_threshold(const Report& report, double figure, double earlier, double threshold) {
  if (!(figure >= threshold)) return false;
  return !report.is_comparison() || !(figure < kMinGrowthFactor * earlier);
}

void find_sign_findings(const Report& report, std::vector<Finding>& found) {
  SignFindings(report, found).find();
}

}  // namespace ctprof
