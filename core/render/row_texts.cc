#include "core/render/row_texts.hpp"

#include <algorithm>

#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string format_coverage(Coverage coverage) {
  return std::to_string(coverage.values) + "/" + std::to_string(coverage.rows);
}

// Joins the texts of all sides, or returns only one if all are equal.
std::string join_sides(const std::vector<std::string>& texts, std::string_view separator) {
  std::string text = texts.front();
  const bool are_equal = std::all_of(texts.begin(), texts.end(),
                                     [&](const std::string& other) { return other == text; });
  for (std::size_t i = 1; !are_equal && i < texts.size(); ++i)
    text += std::string(separator) + texts[i];
  return text;
}

// Returns text such as "1 of 8 parts".
std::string format_parts(const DerivedParts& made_of) {
  return std::to_string(made_of.count_present()) + " of " +
         std::to_string(made_of.count_possible()) + " parts";
}

// Returns whether a part is missing, or the sides have different parts.
bool has_different_parts(const MetricRow& row) {
  return std::any_of(row.sides.begin(), row.sides.end(), [&](const SideFigure& figure) {
    return !figure.derived_parts.is_complete() ||
           !have_same_parts(row.sides.front().derived_parts, figure.derived_parts);
  });
}

}  // namespace

std::string join_with_arrow(const std::vector<std::string>& texts) {
  return join_sides(texts, "→");
}

std::string format_origin(const std::optional<DifferenceOrigin>& origin, std::string_view unit) {
  if (!origin) return "";
  std::string text;
  if (!origin->added.is_zero()) text += format_scaled(origin->added, unit) + " new";
  if (!origin->removed.is_zero())
    text += (text.empty() ? "" : ", ") + format_scaled(origin->removed, unit) + " gone";
  return text;
}

std::string format_change_in_window(OpeningState beginning, const Difference& change,
                                    std::string_view unit) {
  if (!change.is_known()) return "";
  if (beginning == OpeningState::Started) return " (new)";
  return change.is_zero() ? "" : " (" + format_scaled(change, unit) + ")";
}

std::string format_change_in_window(const SideFigure& figure, const PlannedMetric& metric) {
  if (metric.family == "peak") return metric.is_window_peak ? "" : " (ever)";
  return format_change_in_window(figure.opening_state, figure.change, metric.unit);
}

std::string format_coverages(const MetricRow& row) {
  std::vector<std::string> texts;
  const bool with_parts = has_different_parts(row);
  bool is_full = !with_parts;
  for (const SideFigure& figure : row.sides) {
    is_full = is_full && figure.coverage.is_full();
    texts.push_back(format_coverage(figure.coverage));
    if (with_parts && figure.derived_parts.has_parts())
      texts.back() += ", " + format_parts(figure.derived_parts);
  }
  return is_full ? "" : join_with_arrow(texts);
}

std::string format_run_counts(const MetricRow& row) {
  std::vector<std::string> counts;
  for (const SideFigure& figure : row.sides) counts.push_back(std::to_string(figure.runs));
  return join_with_arrow(counts);
}

}  // namespace ctprof
