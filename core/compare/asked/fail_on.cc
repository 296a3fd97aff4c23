#include "core/compare/asked/fail_on.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/compare/asked/group_inputs.hpp"

namespace ctprof {
namespace {

using Kind = Condition::ValueType;

constexpr std::string_view kDeed = "reading --fail-on";

struct FigureWord {
  std::string_view word;
  Figure figure;
};
constexpr FigureWord kFigures[] = {{"pct", Figure::Percent},
                                   {"delta", Figure::Delta},
                                   {"baseline", Figure::Baseline},
                                   {"candidate", Figure::Candidate}};

Result<void> check_words(const Condition& condition) {
  std::vector<Kind> kinds;
  bool any = false;
  for (const auto& input : condition.inputs()) {
    const bool is_figure = figure_named(input.name).has_value();
    if (!is_figure && !is_of_groups(input.name))
      return condition.refusal("'" + input.name +
                               "' is none of METRIC.pct, METRIC.delta, METRIC.baseline, "
                               "METRIC.candidate, group, threads");
    any = any || is_figure;
    kinds.push_back(input.name == kGroupName ? Kind::Text : Kind::Number);
  }
  if (!any)
    return condition.refusal(
        "it names no metric, so no row can match; thread_count.candidate is one");
  return condition.check(kinds);
}

}  // namespace

std::optional<NamedFigure> figure_named(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  const auto word = name.substr(dot + 1);
  const auto it = std::find_if(std::begin(kFigures), std::end(kFigures),
                               [&](const FigureWord& w) { return w.word == word; });
  if (it == std::end(kFigures)) return std::nullopt;
  return NamedFigure{name.substr(0, dot), it->figure};
}

Result<Condition> parse_fail_on(std::string_view text) {
  auto condition = Condition::parse(text, kDeed);
  if (!condition) return condition.error();
  if (auto sound = check_words(*condition); !sound) return sound.error();
  return condition;
}

}  // namespace ctprof
