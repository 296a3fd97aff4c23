// Computes the derived metrics of a run from the other values of a group.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/run_figures.hpp"

namespace ctprof {

// Evaluates the expression with the values of the group, not thread by thread. The coverage is that
// of the inputs.
RunFigures::Cells RunFigures::derive(const PlannedMetric& metric) const {
  Cells cells;
  if (metric.left_out) return cells;
  const std::size_t groups = groups_.count(metric.entity);
  std::vector<double> inputs(metric.inputs.size());
  cells.values.resize(groups);
  cells.counts.resize(groups);
  const auto asked = metric.expression->inputs();
  const bool any_optional =
      std::any_of(asked.begin(), asked.end(), [](const auto& input) { return input.optional; });
  for (std::uint32_t group = 0; group < groups; ++group) {
    Count& count = cells.counts[group];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto input = metric.inputs[i];
      CellValue reading;
      reading.coverage.rows = groups_.rows(metric.entity, group);
      if (input) reading = read(group, *input);
      count.values += static_cast<std::uint32_t>(reading.coverage.values);
      count.rows += static_cast<std::uint32_t>(reading.coverage.rows);
      inputs[i] = as_double(reading.number);
      if (any_optional)
        cells.inputs.push_back(asked[i].optional ? input_state(input, reading)
                                                 : InputState::Required);
    }
    const double value = metric.expression->evaluate(inputs);
    cells.values[group] = metric.never_negative && value < 0 ? kNaN : value;
  }
  return cells;
}

InputState RunFigures::input_state(const std::optional<std::size_t>& input,
                                   const CellValue& reading) const {
  if (ctprof::has_value(reading.number)) return InputState::Present;
  const bool is_possible = reading.coverage.rows > 0 && !(input && absence(*input).unsupported);
  return is_possible ? InputState::Missing : InputState::Impossible;
}

Beginning RunFigures::derived_beginning(std::uint32_t group, const PlannedMetric& metric) const {
  Beginning latest = Beginning::None;
  for (std::size_t i = 0; i < metric.inputs.size(); ++i) {
    const auto input = metric.inputs[i];
    const Beginning of_input = input ? beginning(group, *input) : Beginning::None;
    const bool is_optional = metric.expression->inputs()[i].optional;
    if (of_input == Beginning::None && !is_optional) return Beginning::None;
    latest = std::max(latest, of_input);
  }
  return latest;
}

// Returns no value for a counter, for a ratio of counters, and if any input was not read at the
// opening.
Difference RunFigures::derived_change(std::uint32_t group, const PlannedMetric& metric,
                                      const ctprof_number& now) const {
  if (metric.adds_up || !ctprof::has_value(now)) return {};
  std::vector<double> inputs;
  for (const auto& input : metric.inputs) {
    const double at_end = input ? as_double(read(group, *input).number) : kNaN;
    const Difference change = std::isnan(at_end) ? Difference{} : this->change(group, *input);
    if (!std::isnan(at_end) && !change.known()) return {};
    inputs.push_back(at_end - change.real);
  }
  return difference(number_of(metric.expression->evaluate(inputs)), now);
}

}  // namespace ctprof
