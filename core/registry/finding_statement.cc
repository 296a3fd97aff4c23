#include "core/registry/finding_statement.hpp"

#include <algorithm>
#include <cmath>

namespace ctprof {
namespace {

constexpr std::size_t kMaxStatementBytes = 200, kMaxNameBytes = 100;
constexpr std::ptrdiff_t kMaxValues = 8;

bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool is_control_character(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

}  // namespace

std::optional<std::vector<StatementPart>> parse_statement(std::string_view statement) {
  std::vector<StatementPart> parts;
  while (!statement.empty()) {
    const std::size_t brace = statement.find_first_of("{}");
    if (brace != 0)
      parts.push_back({StatementPart::Kind::Text, std::string(statement.substr(0, brace))});
    if (brace == statement.npos) break;
    const std::size_t end = statement.find('}', brace);
    if (statement[brace] == '}' || end == statement.npos) return std::nullopt;
    const std::string_view name = statement.substr(brace + 1, end - brace - 1);
    if (name.size() > kMaxNameBytes || !std::ranges::all_of(name, may_be_in_name))
      return std::nullopt;
    const auto kind = name.empty() ? StatementPart::Kind::OwnValue : StatementPart::Kind::Metric;
    parts.push_back({kind, std::string(name)});
    statement.remove_prefix(end + 1);
  }
  return parts;
}

std::string find_error(const FindingDef& finding) {
  const auto is_positive = [](double number) { return std::isfinite(number) && number > 0; };
  if (finding.next > CTPROF_NEXT_NOTHING)
    return "has step number " + std::to_string(finding.next) + ", which ctprof does not know";
  if (!is_positive(finding.at_least)) return "has a threshold that is not above zero";
  if (!is_positive(finding.weight)) return "has a weight that is not above zero";
  if (finding.statement.empty()) return "has no statement";
  if (finding.statement.size() > kMaxStatementBytes)
    return "has a statement of more than " + std::to_string(kMaxStatementBytes) + " bytes";
  if (std::ranges::any_of(finding.statement, is_control_character))
    return "has a statement with control characters";
  if (!parse_statement(finding.statement))
    return "has a statement in which a brace does not enclose the name of a metric";
  if (std::ranges::count(finding.statement, '{') > kMaxValues)
    return "has a statement with more than " + std::to_string(kMaxValues) + " values";
  return {};
}

}  // namespace ctprof
