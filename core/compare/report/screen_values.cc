#include "core/compare/report/screen_values.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/report/sign_findings.hpp"

namespace ctprof {

ScreenValues::ScreenValues(const Report& report) : report_(&report), screen_(report.screen()) {
  for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
    const std::string& role = metric(at).role;
    if (role == "run-time") run_ = at;
    if (role == "wait-time") wait_ = at;
    if (role == "resident") resident_ = at;
  }
}

double ScreenValues::current_value(const ScreenRow& row, std::size_t at) const {
  const auto figures = screen_->figures(row, at);
  if (!is_tested_pair(figures)) return figures.back().value;
  return to_screen_value(metric(at), figures.back().test_result->candidate_mean);
}

double ScreenValues::earlier_value(const ScreenRow& row, std::size_t at) const {
  if (!is_comparison()) return 0;
  const auto figures = screen_->figures(row, at);
  if (!is_tested_pair(figures)) return figures.front().value;
  return to_screen_value(metric(at), figures.back().test_result->baseline_mean);
}

bool ScreenValues::may_be_finding(const ScreenRow& row, std::size_t at) const {
  const auto& test_result = screen_->figures(row, at).back().test_result;
  return !test_result || test_result->is_significant;
}

bool ScreenValues::exceeds(double figure, double earlier, double minimum) const {
  return exceeds_threshold(*report_, figure, earlier, minimum);
}

double ScreenValues::first_seconds() const {
  return std::max(static_cast<double>(report_->sides().front().window->length_ns) / 1e9, 0.001);
}

double ScreenValues::window_seconds() const {
  return static_cast<double>(report_->sides().back().window->length_ns) / 1e9;
}

std::string ScreenValues::duration_in_window(double percent) const {
  return format_finding_seconds(percent / 100 * window_seconds());
}

std::string ScreenValues::window_duration() const {
  return format_finding_seconds(window_seconds());
}

std::string ScreenValues::unit(std::size_t at) const {
  const bool is_percent = screen_->columns[at].headline.shown == CTPROF_SHOWN_PERCENT;
  return is_percent ? "percent" : metric(at).unit;
}

std::string ScreenValues::describe_change(const ScreenRow& row, std::size_t at) const {
  if (!is_comparison()) return {};
  const double ends[] = {earlier_value(row, at), current_value(row, at)};
  return "; " + screen_->columns[at].headline.label + " " + format_brief_steps(ends, unit(at));
}

Finding ScreenValues::make_finding(std::string_view rule, const ScreenRow& row,
                                   std::string statement, double weight, NextStep next) const {
  return {rule,
          row.group,
          report_->grouping().names[row.group],
          std::move(statement),
          std::isnan(weight) ? 0 : weight,
          next};
}

}  // namespace ctprof
