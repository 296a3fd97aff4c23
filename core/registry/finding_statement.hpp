// The statements of findings that plugins define (ctprof_finding): texts with values of metrics in
// them.
//
//   parse_statement("lost {net_lost} of {net_sent}, {}")
//     "lost ", net_lost, " of ", net_sent, ", ", the value itself

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

struct StatementPart {
  enum class Kind { Text, Metric, OwnValue };
  Kind kind = Kind::Text;
  std::string text{};  // the text, or the name of the metric
  bool operator==(const StatementPart&) const = default;
};

// Returns no value if a brace is not closed or is not part of a pair, or if the text between two
// braces cannot be the name of a metric.
std::optional<std::vector<StatementPart>> parse_statement(std::string_view statement);

// Returns why ctprof cannot show the finding, as the rest of a sentence: "has no weight". Empty if
// it can.
std::string find_error(const FindingDef& finding);

}  // namespace ctprof
