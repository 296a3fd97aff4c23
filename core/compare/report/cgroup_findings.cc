#include "core/compare/report/cgroup_findings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

using CgroupValues = std::map<std::string, double> HostLoad::*;

double value_in_run(const RunFacts& run, CgroupValues values, const std::string& cgroup) {
  const auto& all = run.window->load.*values;
  const auto found = all.find(cgroup);
  return found == all.end() ? 0 : found->second;
}

double median_of(std::span<const RunFacts> runs, CgroupValues values, const std::string& cgroup) {
  return median_of_runs(runs,
                        [&](const RunFacts& run) { return value_in_run(run, values, cgroup); });
}

double largest_of(std::span<const RunFacts> runs, CgroupValues values, const std::string& cgroup) {
  double largest = 0;
  for (const RunFacts& run : runs) largest = std::max(largest, value_in_run(run, values, cgroup));
  return largest;
}

class CgroupFindings {
 public:
  CgroupFindings(const Report& report, std::vector<Finding>& found)
      : report_(&report), findings_(&found) {}

  void find() {
    find_throttled();
    find_oom();
  }

 private:
  // Values with their cgroups, the largest first.
  using Found = std::vector<std::pair<double, std::string>>;

  void find_throttled() {
    const double cpus = std::max(report_->screen()->machine.cpus, 1.0);
    const double seconds =
        static_cast<double>(report_->sides().back().window->length_ns) / kNsPerSecond;
    const auto describe = [&](double share) {
      return "was throttled for " + format_finding_seconds(share * seconds) + " in " +
             format_finding_seconds(seconds) + " by its CPU quota";
    };
    add("throttled", find_cgroups(&HostLoad::throttled_cgroups, median_of, kMinThrottled), describe,
        [&](double share) { return std::min(share / cpus, 1.0); }, {"so was", "so were"});
  }

  void find_oom() {
    const auto describe = [](double kills) {
      return "ran out of memory: the kernel killed " + format_decimal_count(kills) + " " +
             inflect(kills, "process") + " in it (oom_kill)";
    };
    add("oom", find_cgroups(&HostLoad::oom_kills, largest_of, 1), describe,
        [](double) { return 1.0; }, {"so did", "so did"});
  }

  // `reduce`: computes the value of a side.
  template <class Reduce>
  Found find_cgroups(CgroupValues values, Reduce reduce, double threshold) const {
    const auto last_runs = report_->runs(report_->sides().size() - 1);
    std::set<std::string> cgroups;
    for (const RunFacts& run : last_runs)
      for (const auto& [cgroup, value] : run.window->load.*values) cgroups.insert(cgroup);
    Found found;
    for (const std::string& cgroup : cgroups) {
      const double value = reduce(last_runs, values, cgroup);
      const double earlier =
          report_->is_comparison() ? reduce(report_->runs(0), values, cgroup) : 0;
      if (exceeds_threshold(*report_, value, earlier, threshold)) found.emplace_back(value, cgroup);
    }
    std::ranges::stable_sort(found, std::greater(), &Found::value_type::first);
    return found;
  }

  // Adds a finding for each of the largest values. `also`: "so was" and "so were".
  template <class Describe, class Weigh>
  void add(std::string_view rule, const Found& found, Describe describe, Weigh weigh,
           std::pair<std::string_view, std::string_view> also) {
    constexpr std::size_t kMaxNamed = 2;
    const std::size_t named = std::min(kMaxNamed, found.size());
    for (std::size_t at = 0; at < named; ++at) {
      const auto& [value, cgroup] = found[at];
      std::string statement = describe(value);
      if (const std::size_t more = found.size() - named; more > 0 && at + 1 == named)
        statement += "; " + std::string(more == 1 ? also.first : also.second) + " " +
                     format_count(more, "other cgroup");
      findings_->push_back(
          {rule, {}, cgroup, std::move(statement), weigh(value), NextStep::Cgroups});
    }
  }

  const Report* report_;
  std::vector<Finding>* findings_;
};

}  // namespace

void find_cgroup_findings(const Report& report, std::vector<Finding>& found) {
  CgroupFindings(report, found).find();
}

}  // namespace ctprof
