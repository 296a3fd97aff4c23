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
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

constexpr double kUsPerMs = 1e3;

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

  // Values with their cgroups, the largest first.
  using Found = std::vector<std::pair<double, std::string>>;

  void find() {
    find_throttled();
    find_oom();
  }
  Found find_throttled_cgroups() const {
    return find_cgroups(&HostLoad::throttled_cgroups, median_of, kMinThrottled);
  }

 private:
  const HostLoad& last_load() const { return report_->sides().back().window->load; }

  void find_throttled() {
    const double cpus = std::max(report_->screen()->machine.cpus, 1.0);
    const double seconds =
        static_cast<double>(report_->sides().back().window->length_ns) / kNsPerSecond;
    const auto describe = [&](double share, const std::string& cgroup) {
      return "was throttled for " + format_finding_seconds(share * seconds) + " in " +
             format_finding_seconds(seconds) + " by its CPU quota" + describe_quota(cgroup) +
             describe_waiting_group(cgroup);
    };
    add("throttled", find_throttled_cgroups(), describe,
        [&](double share) { return std::min(share / cpus, 1.0); }, {"so was", "so were"});
  }

  // Returns for example " (cpu.max, 20 of 100 ms)".
  std::string describe_quota(const std::string& cgroup) const {
    const auto& quotas = last_load().cpu_quotas;
    const auto found = quotas.find(cgroup);
    if (found == quotas.end()) return {};
    const auto& [quota_us, period_us, file] = found->second;
    return " (" + file + (file.empty() ? "" : ", ") + format_decimal_count(quota_us / kUsPerMs) +
           " of " + format_decimal_count(period_us / kUsPerMs) + " ms)";
  }

  // Names the group whose threads waited longest in the cgroup.
  std::string describe_waiting_group(const std::string& cgroup) const {
    const auto signs = report_->signs(report_->sides().size() - 1);
    double longest_ns = 0;
    std::size_t longest = 0;
    for (std::size_t group = 0; group < signs.size(); ++group)
      for (const ThrottledWait& one : signs[group].throttled_waits)
        if (one.cgroup == cgroup && one.wait_ns > longest_ns)
          longest_ns = one.wait_ns, longest = group;
    if (longest_ns <= 0) return {};
    return "; in it, " + readable_key(report_->grouping().names[longest]) + " waited " +
           format_finding_seconds(longest_ns / kNsPerSecond) + " for a CPU";
  }

  void find_oom() {
    const auto describe = [](double kills, const std::string&) {
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
      std::string statement = describe(value, cgroup);
      if (const std::size_t more = found.size() - named; more > 0 && at + 1 == named)
        statement += "; " + std::string(more == 1 ? also.first : also.second) + " " +
                     format_count(more, "other cgroup");
      const auto& entity = last_load().throttled_entity;
      const bool is_of_entity = rule == "throttled" && entity;
      findings_->push_back({rule,
                            {},
                            cgroup,
                            std::move(statement),
                            weigh(value),
                            is_of_entity ? NextStep::Rows : NextStep::Cgroups,
                            entity});
    }
  }

  const Report* report_;
  std::vector<Finding>* findings_;
};

}  // namespace

void find_cgroup_findings(const Report& report, std::vector<Finding>& found) {
  CgroupFindings(report, found).find();
}

std::vector<std::string> list_throttled_cgroups(const Report& report) {
  std::vector<Finding> unused;
  std::vector<std::string> cgroups;
  for (const auto& [share, cgroup] : CgroupFindings(report, unused).find_throttled_cgroups())
    cgroups.push_back(cgroup);
  return cgroups;
}

}  // namespace ctprof
