#include "core/compare/report/sign_findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"

namespace ctprof {
namespace {

// Thresholds; finding_rules.cc contains them as text.
constexpr double kLeastTimes = 1.5;
constexpr double kLeastShortWaits = 0.2;
constexpr double kFewestZombies = 10, kLeastMajorFaults = 100;
constexpr double kLeastInterrupts = 0.2, kLeastOwnShare = 0.1;
constexpr double kLeastRunOfUnnamed = 0.1, kLeastUnnamedShare = 0.3;
// Findings without a share of the machine get a small weight, so that they follow larger ones.
constexpr double kWeightOfCounts = 0.02, kWeightOfNames = 0.005;

// An interpreter that executes program functions in its own function. With the option, the program
// functions have names.
struct Interpreter {
  std::string_view function, language, option;
};
constexpr std::array kInterpreters{
    Interpreter{"_PyEval_EvalFrameDefault", "Python", "python3 -X perf (3.12 or later)"},
    Interpreter{"rb_vm_exec", "Ruby", "ruby --yjit --yjit-perf"},
};
constexpr std::string_view kNamesOfCompiled =
    "node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, or what its runtime offers";

std::string duration_in_words(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  return text;
}

std::string counted_in_words(double count, const std::string& one, const char* plural = "s") {
  return count_text(count) + " " + one + (count == 1 ? "" : plural);
}

class SignCauses {
 public:
  SignCauses(const Report& report, std::vector<Finding>& found)
      : report_(&report), screen_(report.screen()), found_(&found) {}

  void find() {
    if (knows_before()) find_in_groups();
    for (const ScreenRow& row : screen_->rows) find_unnamed(row);
    find_oom();
    find_interrupts();
  }

 private:
  bool compares() const { return report_->compares(); }
  // A first side with several runs has no signs, so a state of the last side may not be new.
  bool knows_before() const { return !compares() || report_->runs(0).size() == 1; }
  std::span<const RunFacts> last_runs() const { return report_->runs(report_->sides().size() - 1); }
  const GroupSigns& now(std::uint32_t group) const {
    return report_->signs(report_->sides().size() - 1)[group];
  }
  const GroupSigns& before(std::uint32_t group) const {
    static const GroupSigns kNone;
    return compares() ? report_->signs(0)[group] : kNone;
  }
  const WindowFacts& window() const { return *report_->sides().back().window; }
  double window_ns() const { return window().rates_over_ns; }
  // Returns the total length of the windows of all runs of the last side.
  double windows_ns() const {
    double sum = 0;
    for (const RunFacts& run : last_runs()) sum += run.window->rates_over_ns;
    return sum;
  }
  double first_ns() const { return report_->sides().front().window->rates_over_ns; }
  std::string of_window() const {
    return seconds_in_words(static_cast<double>(window().length_ns) / kNsPerSecond);
  }
  // Returns the share of the machine's CPU time.
  double share(double ns) const {
    const double whole = window_ns() * std::max(screen_->machine.cpus, 1.0);
    return whole > 0 ? std::min(ns / whole, 1.0) : 0;
  }
  bool reaches(double figure, double was, double least) const {
    return is_finding(*report_, figure, was, least);
  }
  void add(std::string_view rule, std::uint32_t group, std::string what, double weight,
           NextStep next) {
    found_->push_back(
        {rule, group, report_->grouping().names[group], std::move(what), weight, next});
  }
  void add_of_host(std::string_view rule, std::string who, std::string what, double weight,
                   NextStep next) {
    found_->push_back({rule, {}, std::move(who), std::move(what), weight, next});
  }

  void find_in_groups() {
    for (std::uint32_t group = 0; group < report_->grouping().names.size(); ++group) {
      find_lock(group);
      find_odd_one(group);
      find_states(group);
      find_major_faults(group);
    }
    find_own_cost();
  }

  void find_lock(std::uint32_t group) {
    const ShortWaits& waits = now(group).short_waits;
    const double least = kLeastShortWaits * window_ns();
    const double was =
        before(group).short_waits.blocked_ns * window_ns() / std::max(first_ns(), 1.0);
    if (!reaches(waits.blocked_ns, was, least) || waits.waits <= 0) return;
    const bool is_lock = waits.lock_ns >= waits.blocked_ns / 2;
    add("lock", group,
        "waited " + brief(waits.waits / (window_ns() / kNsPerSecond), "count") +
            " times per second " + (is_lock ? "for a lock" : "for a lock or another thread") +
            ", " + duration_in_words(waits.blocked_ns / waits.waits) + " each, in " +
            counted_in_words(waits.threads, "thread") + " at a time",
        share(std::min(waits.blocked_ns, window_ns())),
        is_lock ? NextStep::Threads : NextStep::Waits);
  }

  void find_odd_one(std::uint32_t group) {
    const auto &odd = now(group).odd, &was = before(group).odd;
    if (!odd || (was && was->is_waiting == odd->is_waiting)) return;
    const double per_second = kNsPerSecond;
    add("one-of-many", group,
        "has a thread (" + odd->name + ", " + std::to_string(odd->tid) + ") that " +
            (odd->is_waiting ? "waited for a CPU for " : "ran for ") +
            seconds_in_words(odd->figure_ns / per_second) + " in " + of_window() +
            ", the median of " + std::to_string(odd->others + 1) + " similar ones is " +
            seconds_in_words(odd->median_ns / per_second),
        share(odd->figure_ns - odd->median_ns), NextStep::Threads);
  }

  void find_states(std::uint32_t group) {
    const GroupSigns &signs = now(group), &was = before(group);
    if (reaches(signs.zombies, was.zombies, kFewestZombies))
      add("zombies", group,
          "has " + counted_in_words(signs.zombies, "zombie") +
              ": processes that exited, and that their parent did not wait for",
          kWeightOfCounts, NextStep::States);
    if (reaches(signs.stuck, was.stuck, 1))
      add("stuck", group,
          "has " + counted_in_words(signs.stuck, "thread") +
              " in state D (no signal wakes it) when the window opened and when it closed, that "
              "did not run in between",
          share(window_ns()), NextStep::States);
  }

  void find_major_faults(std::uint32_t group) {
    const double rate = now(group).major_faults / (window_ns() / kNsPerSecond);
    const double was = before(group).major_faults / std::max(first_ns() / kNsPerSecond, 0.001);
    if (!reaches(rate, was, kLeastMajorFaults)) return;
    add("major-faults", group,
        "read pages from a disk or swap " + brief(rate, "count") +
            " times per second (major page faults)",
        kWeightOfCounts, NextStep::Waits);
  }

  void find_oom() {
    const auto kills_of = [](const RunFacts& run) { return run.window->load.oom_kills; };
    const HostLoad& load = std::ranges::max_element(last_runs(), {}, kills_of)->window->load;
    double was = 0;
    for (const RunFacts& run : report_->runs(0))
      if (compares() && run.window->load.oom_cgroup == load.oom_cgroup)
        was = std::max(was, kills_of(run));
    if (!reaches(load.oom_kills, was, 1)) return;
    add_of_host("oom", load.oom_cgroup,
                "exceeded its memory: the kernel killed " +
                    counted_in_words(load.oom_kills, "process", "es") + " of it (oom_kill)",
                1, NextStep::Cgroups);
  }

  static double interrupts_of(const RunFacts& run) {
    const auto& accounting = run.window->accounting;
    return accounting && accounting->wall > 0 ? accounting->interrupts / accounting->wall : kNaN;
  }

  void find_interrupts() {
    const double figure = median_of_runs(last_runs(), &interrupts_of);
    const double was = compares() ? median_of_runs(report_->runs(0), &interrupts_of) : 0;
    if (!reaches(figure, was, kLeastInterrupts)) return;
    add_of_host("interrupts", "the host",
                "spent " + percent_in_words(figure) +
                    " of a CPU in interrupts and softirqs (network, disks, timers)",
                share(figure * window_ns()), NextStep::HostTime);
  }

  double own_share(std::size_t side) const {
    double sum = 0;
    for (const GroupSigns& signs : report_->signs(side)) sum += signs.own_ns;
    const double ns = report_->sides()[side].window->rates_over_ns;
    return ns > 0 ? sum / ns : 0;
  }

  void find_own_cost() {
    const double figure = own_share(report_->sides().size() - 1);
    if (!reaches(figure, compares() ? own_share(0) : 0, kLeastOwnShare)) return;
    add_of_host("own-cost", "ctprof",
                "itself ran for " + percent_in_words(figure) +
                    " of a CPU; lower rates cost less (record --budget)",
                share(figure * window_ns()), NextStep::Nothing);
  }

  // The total weight of a group's samples, and the weight in functions without a name.
  struct Unnamed {
    double all = 0, compiled = 0;
    std::array<double, kInterpreters.size()> interpreted{};
  };

  void find_unnamed(const ScreenRow& row) {
    if (!report_->stacks()) return;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at) {
      const PlannedMetric& metric = report_->metrics()[at];
      if (metric.role != "running-stacks" || !metric.tells_stacks()) continue;
      const Unnamed unnamed = unnamed_of({report_->sides().size() - 1, row.group, at});
      if (unnamed.all <= 0 || unnamed.all < kLeastRunOfUnnamed * windows_ns()) continue;
      tell_unnamed(row.group, unnamed);
    }
  }

  void tell_unnamed(std::uint32_t group, const Unnamed& unnamed) {
    const auto tell = [&](double ns, const std::string& what, std::string_view option) {
      if (ns < kLeastUnnamedShare * unnamed.all) return;
      add("names", group,
          "ran for " + percent_in_words(ns / unnamed.all) + " of its time in " + what +
              " without names; they are recorded if it is started by " + std::string(option),
          kWeightOfNames, NextStep::Nothing);
    };
    tell(unnamed.compiled, "code that it compiled itself,", kNamesOfCompiled);
    for (std::size_t at = 0; at < kInterpreters.size(); ++at)
      tell(unnamed.interpreted[at], std::string(kInterpreters[at].language) + " functions",
           kInterpreters[at].option);
  }

  Unnamed unnamed_of(CellAt at) const {
    Unnamed found;
    for (const RunStacks& run : report_->rollup().stacks(at))
      for (const ctprof_stack& one : run.stacks) take_stack(one, found);
    return found;
  }

  // If another compiled function in the stack has a name, the program has a map of names, and the
  // stack is not counted.
  void take_stack(const ctprof_stack& one, Unnamed& found) const {
    constexpr std::size_t kMostFunctions = 128;
    const StackBook& book = report_->stacks()->book();
    const auto weight = static_cast<double>(one.weight);
    found.all += weight;
    bool is_compiled = false, is_named = false;
    std::array<bool, kInterpreters.size()> runs_in{};
    for (const std::uint32_t number : book.functions_of(one.stack, kMostFunctions)) {
      const StackFunction& function = book.functions()[number];
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
  std::vector<Finding>* found_;
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

std::string seconds_in_words(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string percent_in_words(double share) {
  return std::to_string(std::llround(100 * share)) + " %";
}

bool is_finding(const Report& report, double figure, double was, double least) {
  if (!(figure >= least)) return false;
  return !report.compares() || !(figure < kLeastTimes * was);
}

void find_by_signs(const Report& report, std::vector<Finding>& found) {
  SignCauses(report, found).find();
}

}  // namespace ctprof
