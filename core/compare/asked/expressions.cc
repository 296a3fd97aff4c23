#include "core/compare/asked/expressions.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/expression/expression.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

Result<void> add_condition(Where& where, std::string_view text) {
  const auto condition = Condition::parse(text, "reading --where");
  if (!condition) return condition.error();
  for (Condition& part : condition->joined()) {
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

std::string quoted(std::string_view name) {
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
                          bool of_comparison) {
  if (of_comparison && figure == Figure::Value)
    return condition.refusal("'" + input +
                             "' is none of METRIC.pct, METRIC.delta, METRIC.baseline, "
                             "METRIC.candidate, METRIC.p, METRIC.shift, METRIC.low, METRIC.high, "
                             "group, threads");
  if (!of_comparison && figure != Figure::Value)
    return condition.refusal("'" + input +
                             "' needs two sides; show accepts only the name of the metric");
  return {};
}

Result<void> check_words(const Condition& condition, bool of_comparison) {
  std::vector<ValueType> types;
  bool any = false;
  for (const auto& input : condition.inputs()) {
    const auto named = figure_named(input.name);
    if (named)
      if (auto fits = check_figure(condition, input.name, named->figure, of_comparison); !fits)
        return fits;
    any = any || named;
    types.push_back(input.name == kGroupName ? ValueType::Text : ValueType::Number);
  }
  if (!any)
    return condition.refusal(
        "it names no metric, so no row can match; " +
        std::string(of_comparison ? "thread_count.candidate" : "thread_count") + " is one");
  return condition.check(types);
}

}  // namespace

Result<Condition> parse_about(std::string_view text, std::string_view axis) {
  const std::string_view name = sdk::trimmed(text);
  const std::string wanted =
      has_operator(name) ? std::string(name) : std::string(kGroupName) + " == " + quoted(name);
  auto condition = Condition::parse(wanted, "reading --about");
  if (!condition) return condition.error();
  if (name.empty() || condition->inputs().empty())
    return condition->refusal(
        "it names no group; pass the name of a group, or a condition such as " + std::string(axis) +
        " == \"NAME\"");
  for (const auto& input : condition->inputs())
    if (input.name != kGroupName && input.name != axis)
      return condition->refusal("'" + input.name + "' does not name groups here; use group or " +
                                std::string(axis));
  const std::vector<ValueType> types(condition->inputs().size(), ValueType::Text);
  if (auto sound = condition->check(types); !sound) return sound.error();
  return condition;
}

bool is_about(const Condition& condition, std::string_view group) {
  const std::vector<Condition::Value> values(condition.inputs().size(),
                                             {ValueType::Text, 0, group});
  return condition.holds(values);
}

std::optional<NamedFigure> figure_named(std::string_view name) {
  if (is_of_groups(name)) return std::nullopt;
  const auto dot = name.rfind('.');
  const auto word = dot == name.npos ? std::string_view{} : name.substr(dot + 1);
  const auto it = std::find_if(std::begin(kFigures), std::end(kFigures),
                               [&](const FigureWord& w) { return w.word == word; });
  if (it == std::end(kFigures)) return NamedFigure{name, Figure::Value};
  return NamedFigure{name.substr(0, dot), it->figure};
}

Result<Condition> parse_fail_on(std::string_view text, bool of_comparison) {
  auto condition = Condition::parse(text, "reading --fail-on");
  if (!condition) return condition.error();
  if (auto sound = check_words(*condition, of_comparison); !sound) return sound.error();
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
  DerivedDef asked;
  asked.name = sdk::trimmed(text.substr(0, equals));
  asked.expression = sdk::trimmed(text.substr(equals + 1));
  asked.section = "derived";
  if (!is_name(asked.name))
    return derive_refusal(text, "'" + asked.name + "' is no name: letters, digits, dots and _");
  const auto expression = Expression::parse(asked.expression);
  if (!expression) return expression.error();
  if (expression->inputs().empty()) return derive_refusal(text, "it reads no metric");
  return asked;
}

}  // namespace ctprof
