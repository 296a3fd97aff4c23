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
  if (metric.is_omitted) return cells;
  const std::size_t groups = groups_.count(metric.entity);
  std::vector<double> inputs(metric.inputs.size());
  cells.values.resize(groups);
  cells.counts.resize(groups);
  const auto expression_inputs = metric.expression->inputs();
  const bool has_optional = std::any_of(expression_inputs.begin(), expression_inputs.end(),
                                        [](const auto& input) { return input.optional; });
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
      if (has_optional)
        cells.inputs.push_back(expression_inputs[i].optional ? input_state(input, reading)
                                                             : InputState::Required);
    }
    const double value = metric.expression->evaluate(inputs);
    cells.values[group] = metric.is_never_negative && value < 0 ? kNaN : value;
  }
  return cells;
}

InputState RunFigures::input_state(const std::optional<std::size_t>& input,
                                   const CellValue& reading) const {
  if (ctprof::has_value(reading.number)) return InputState::Present;
  const bool is_possible = reading.coverage.rows > 0 && !(input && absence(*input).is_unsupported);
  return is_possible ? InputState::Missing : InputState::Impossible;
}

OpeningState RunFigures::derived_opening_state(std::uint32_t group,
                                               const PlannedMetric& metric) const {
  OpeningState combined_state = OpeningState::None;
  for (std::size_t i = 0; i < metric.inputs.size(); ++i) {
    const auto input = metric.inputs[i];
    const OpeningState input_opening = input ? opening_state(group, *input) : OpeningState::None;
    const bool is_optional = metric.expression->inputs()[i].optional;
    if (input_opening == OpeningState::None && !is_optional) return OpeningState::None;
    combined_state = std::max(combined_state, input_opening);
  }
  return combined_state;
}

// Returns no value for a counter, for a ratio of counters, and if any input was not read at the
// opening.
Difference RunFigures::derived_change(std::uint32_t group, const PlannedMetric& metric,
                                      const ctprof_number& end_value) const {
  if (metric.is_cumulative || !ctprof::has_value(end_value)) return {};
  std::vector<double> inputs;
  for (const auto& input : metric.inputs) {
    const double at_end = input ? as_double(read(group, *input).number) : kNaN;
    const Difference change = std::isnan(at_end) ? Difference{} : this->change(group, *input);
    if (!std::isnan(at_end) && !change.is_known()) return {};
    inputs.push_back(at_end - change.real);
  }
  return difference(make_number(metric.expression->evaluate(inputs)), end_value);
}

}  // namespace ctprof
