#include "core/compare/report/findings.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/compare/report/cgroup_findings.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

// Drops the findings of the first rule about groups for which the second one, or any other, has a
// finding.
void drop_explained(std::vector<Finding>& findings, std::string_view explained_rule,
                    std::string_view explaining_rule = {}) {
  std::set<std::optional<std::uint32_t>> explained_groups;
  for (const Finding& one : findings)
    if (explaining_rule.empty() ? one.rule != explained_rule : one.rule == explaining_rule)
      explained_groups.insert(one.group);
  std::erase_if(findings, [&](const Finding& one) {
    return one.rule == explained_rule && explained_groups.contains(one.group);
  });
}

void sort_and_limit(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tuple(-a.weight, std::string_view(a.subject), a.rule) <
           std::tuple(-b.weight, std::string_view(b.subject), b.rule);
  });
  drop_explained(findings, "cpu");
  drop_explained(findings, "idle");
  drop_explained(findings, "minor-faults", "memory");
  drop_explained(findings, "stuck", "blocked");
  drop_explained(findings, "threads", "zombies");
  std::set<std::pair<std::string_view, std::string>> reported;
  std::erase_if(findings, [&](const Finding& one) {
    return !reported.emplace(one.rule, one.subject).second;
  });
  if (findings.size() > kMaxFindings) findings.resize(kMaxFindings);
}

}  // namespace

std::vector<Finding> find_causes(const Report& report) {
  std::vector<Finding> findings;
  if (!report.screen()) return findings;
  find_row_findings(report, findings);
  find_memory_findings(report, findings);
  find_event_findings(report, findings);
  find_cgroup_findings(report, findings);
  find_host_findings(report, findings);
  find_sign_findings(report, findings);
  find_defined_findings(report, findings);
  sort_and_limit(findings);
  return findings;
}

}  // namespace ctprof
