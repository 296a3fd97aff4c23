// Findings: what a window, or the difference of two, shows at once, a cause in a sentence each.
//
// Rules of the core look at the figures of the first screen and of the host, by the roles of
// metrics. A finding states who, what and how much; it does not judge. Each rule has a threshold,
// which `ctprof help findings` prints, and nothing is found on an idle host. Of several windows the
// last is compared with the first: what was so before is no finding. Where the difference of a row
// was judged (row_family.hpp), it is a finding only if it is proven, with the figures of the table.
//
// Findings are in the order of their weight, which is a share of the machine as the score of a row.
// Ties are ordered by name and rule.
//
// Not here: text for terminals, commands (render/findings_text.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

// What continues the investigation.
enum class NextStep : std::uint8_t {
  Threads,   // the threads of the group in this window
  Cgroups,   // the window by cgroups
  Waits,     // a new recording of where threads wait
  Settings,  // all figures of the group
  States,    // the states of the processes of the group
  HostTime,  // the CPU time of the host by kind
  Nothing,   // no command of ctprof shows more
};

struct Finding {
  std::string_view rule;               // of finding_rules()
  std::optional<std::uint32_t> group;  // none: a cgroup by its path, or the host
  std::string who;                     // the name as the file has it, not escaped
  std::string what;                    // the rest of the sentence, not escaped either
  double weight = 0;
  NextStep next = NextStep::Threads;
};

struct FindingRule {
  std::string_view name;
  std::string_view threshold;  // for people: the figure, and from when on it is a finding
};
std::span<const FindingRule> finding_rules();

inline constexpr std::size_t kMostFindings = 5;

// At most kMostFindings, and one of each group and rule. None where the report has no first screen.
std::vector<Finding> find_causes(const Report& report);

}  // namespace ctprof
