#include <algorithm>
#include <string>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/screen_values.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

class HostFindings : ScreenValues {
 public:
  HostFindings(const Report& report, std::vector<Finding>& found)
      : ScreenValues(report), findings_(&found) {}

  void find() {
    find_throttled();
    find_pressure();
  }

 private:
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
    findings_->push_back({"throttled",
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
      findings_->push_back({"pressure",
                            {},
                            "the host",
                            "had a thread that waited for " + std::string(what) + " for " +
                                format_finding_percent(share) + " of the time",
                            share / std::max(screen_->machine.cpus, 1.0),
                            NextStep::Waits});
    }
  }

  std::vector<Finding>* findings_;
};

}  // namespace

void find_host_findings(const Report& report, std::vector<Finding>& found) {
  HostFindings(report, found).find();
}

}  // namespace ctprof
