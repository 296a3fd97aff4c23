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

 private:
  std::vector<Finding>* findings_;
};

}  // namespace

void find_host_findings(const Report& report, std::vector<Finding>& found) {
  HostFindings(report, found).find();
}

}  // namespace ctprof
