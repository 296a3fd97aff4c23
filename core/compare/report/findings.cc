#include "core/compare/report/findings.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {
namespace {

// Too few CPUs for all groups are one cause. The group that waited most becomes the subject, and
// the next one is named.
void merge_wait_findings(std::vector<Finding>& findings) {
  const auto is_wait = [](const Finding& one) { return one.rule == "wait"; };
  const auto first = std::ranges::find_if(findings, is_wait);
  if (first == findings.end()) return;
  const auto next = std::find_if(first + 1, findings.end(), is_wait);
  if (next == findings.end()) return;
  const auto more = std::count_if(next + 1, findings.end(), is_wait);
  first->statement += "; " + readable_key(next->subject);
  if (more > 0)
    first->statement += " and " + format_count(static_cast<std::uint64_t>(more), "other group");
  first->statement += " also waited";
  findings.erase(std::remove_if(first + 1, findings.end(), is_wait), findings.end());
}

// The CPU time of a group is part of its other findings.
void drop_explained_cpu(std::vector<Finding>& findings) {
  std::set<std::optional<std::uint32_t>> explained_groups;
  for (const Finding& one : findings)
    if (one.rule != "cpu") explained_groups.insert(one.group);
  std::erase_if(findings, [&](const Finding& one) {
    return one.rule == "cpu" && explained_groups.contains(one.group);
  });
}

// Drops the second of two findings of a group, because it is part of the first.
void drop_explained(std::vector<Finding>& findings, std::string_view explaining_rule,
                    std::string_view explained_rule) {
  std::set<std::optional<std::uint32_t>> explained_groups;
  for (const Finding& one : findings)
    if (one.rule == explaining_rule) explained_groups.insert(one.group);
  std::erase_if(findings, [&](const Finding& one) {
    return one.rule == explained_rule && explained_groups.contains(one.group);
  });
}

void sort_and_limit(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tuple(-a.weight, std::string_view(a.subject), a.rule) <
           std::tuple(-b.weight, std::string_view(b.subject), b.rule);
  });
  merge_wait_findings(findings);
  drop_explained_cpu(findings);
  drop_explained(findings, "blocked", "stuck");
  drop_explained(findings, "zombies", "threads");
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
  find_host_findings(report, findings);
  find_sign_findings(report, findings);
  sort_and_limit(findings);
  return findings;
}

}  // namespace ctprof
