#include "core/compare/request/expressions.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/expression/expression.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

Result<void> add_condition(WhereConditions& where, std::string_view text) {
  CTPROF_TRY_VALUE(const auto condition, Condition::parse(text, "reading --where"));
  for (Condition& part : condition.split_conjunction()) {
    if (part.inputs().empty()) return part.refusal("it names no metric");
    where.conditions.push_back(std::move(part));
  }
  return {};
}

namespace {

using ValueType = Condition::ValueType;

// Returns whether the text is a condition rather than a group name. A group whose name contains one
// of these characters needs a condition: group == "a&b".
bool has_operator(std::string_view text) { return text.find_first_of("\"=<>~&|") != text.npos; }

std::string quote_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

struct FigureWord {
  std::string_view word;
  Figure figure;
};
constexpr FigureWord kFigures[] = {{"pct", Figure::Percent},
                                   {"delta", Figure::Delta},
                                   {"baseline", Figure::Baseline},
                                   {"candidate", Figure::Candidate},
                                   {"p", Figure::P},
                                   {"shift", Figure::Shift},
                                   {"low", Figure::Low},
                                   {"high", Figure::High}};

// Checks that the report has this figure: show has only values, a comparison only figures of two
// sides.
Result<void> check_figure(const Condition& condition, const std::string& input, Figure figure,
                          bool is_comparison) {
  if (is_comparison && figure == Figure::Value)
    return condition.refusal("'" + input +
                             "' is none of METRIC.pct, METRIC.delta, METRIC.baseline, "
                             "METRIC.candidate, METRIC.p, METRIC.shift, METRIC.low, METRIC.high, "
                             "group, threads");
  if (!is_comparison && figure != Figure::Value)
    return condition.refusal("'" + input +
                             "' needs two sides; show accepts only the name of the metric");
  return {};
}

Result<void> check_words(const Condition& condition, bool is_comparison) {
  std::vector<ValueType> types;
  bool names_metric = false;
  for (const auto& input : condition.inputs()) {
    const auto named = parse_figure_name(input.name);
    if (named) CTPROF_TRY(check_figure(condition, input.name, named->figure, is_comparison));
    names_metric = names_metric || named;
    types.push_back(input.name == kGroupName ? ValueType::Text : ValueType::Number);
  }
  if (!names_metric)
    return condition.refusal(
        "it names no metric, so no row can match; name one, such as " +
        std::string(is_comparison ? "thread_count.candidate" : "thread_count"));
  return condition.check(types);
}

}  // namespace

Result<Condition> parse_about(std::string_view text, std::string_view axis) {
  const std::string_view name = sdk::trimmed(text);
  const std::string condition_text =
      has_operator(name) ? std::string(name) : std::string(kGroupName) + " == " + quote_name(name);
  CTPROF_TRY_VALUE(auto condition, Condition::parse(condition_text, "reading --about"));
  if (name.empty() || condition.inputs().empty())
    return condition.refusal(
        "it names no group; pass the name of a group, or a condition such as " + std::string(axis) +
        " == \"NAME\"");
  for (const auto& input : condition.inputs())
    if (input.name != kGroupName && input.name != axis)
      return condition.refusal("'" + input.name + "' does not name groups here; use group or " +
                               std::string(axis));
  const std::vector<ValueType> types(condition.inputs().size(), ValueType::Text);
  CTPROF_TRY(condition.check(types));
  return condition;
}

bool matches_about(const Condition& condition, std::string_view group) {
  const std::vector<Condition::Value> values(condition.inputs().size(),
                                             {ValueType::Text, 0, group});
  return condition.is_true(values);
}

std::optional<NamedFigure> parse_figure_name(std::string_view name) {
  if (is_group_property(name)) return std::nullopt;
  const auto dot = name.rfind('.');
  const auto word = dot == name.npos ? std::string_view{} : name.substr(dot + 1);
  const auto it = std::find_if(std::begin(kFigures), std::end(kFigures),
                               [&](const FigureWord& w) { return w.word == word; });
  if (it == std::end(kFigures)) return NamedFigure{name, Figure::Value};
  return NamedFigure{name.substr(0, dot), it->figure};
}

Result<Condition> parse_fail_on(std::string_view text, bool is_comparison) {
  CTPROF_TRY_VALUE(auto condition, Condition::parse(text, "reading --fail-on"));
  CTPROF_TRY(check_words(condition, is_comparison));
  return condition;
}

namespace {

// Returns whether an expression parses the text as one name.
bool is_name(std::string_view text) {
  const auto inputs = inputs_of(text);
  return inputs.size() == 1 && inputs.front() == text && text.find('[') == text.npos;
}

}  // namespace

Error derive_refusal(std::string_view text, const std::string& cause) {
  return error("reading --derive", text, cause);
}

Result<DerivedDef> parse_derive(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == text.npos) return derive_refusal(text, "it is not of the form 'name = expression'");
  DerivedDef derived;
  derived.name = sdk::trimmed(text.substr(0, equals));
  derived.expression = sdk::trimmed(text.substr(equals + 1));
  derived.section = "derived";
  if (!is_name(derived.name))
    return derive_refusal(
        text, "'" + derived.name + "' is not a valid name: use letters, digits, dots and _");
  CTPROF_TRY_VALUE(const auto expression, Expression::parse(derived.expression));
  if (expression.inputs().empty()) return derive_refusal(text, "it reads no metric");
  return derived;
}

}  // namespace ctprof
