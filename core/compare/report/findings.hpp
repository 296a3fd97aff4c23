// Findings: causes that are visible in a window, or in the difference between two, one sentence
// each.
//
// The rules evaluate values of the first screen and of the host; they find metrics by their roles.
// A finding states the subject, the event and the amount. Each rule has a threshold, which `ctprof
// help findings` prints. An idle host has no findings. For several windows, the last is compared
// with the first, and a state that already existed in the first is not a finding. If the difference
// of a row was tested (row_family.hpp), the row is a finding only if the difference is significant;
// the finding has the values of the table.
//
// Derived metrics can define findings of their own (ctprof_finding); files contain them.
//
// Findings are ordered by weight, a share of the machine like the score of a row. Ties are ordered
// by name and rule.
//
// See also: render/findings_text.hpp formats text for terminals and commands.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

struct FindingRule {
  std::string_view name;
  std::string_view threshold;  // for people: the measured quantity and its threshold
};
std::span<const FindingRule> finding_rules();

inline constexpr std::size_t kMaxFindings = 5;

// Returns at most kMaxFindings findings, one for each group and rule; none if the report has no
// first screen.
std::vector<Finding> find_causes(const Report& report);

}  // namespace ctprof
