// Reads the values of the first screen for rules that find causes, and describes them in words.
//
// See also: findings.hpp (definition of a finding), screen.hpp (the screen).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Rules derive from this class. REQUIRES: the report has a first screen and outlives the object.
class ScreenValues {
 protected:
  explicit ScreenValues(const Report& report);

  const PlannedMetric& metric(std::size_t at) const {
    return report_->metrics()[screen_->columns[at].metric];
  }
  bool is_comparison() const { return report_->is_comparison(); }
  // Returns the value that the table of the screen shows: for a tested row the value to which the
  // shift leads, otherwise the median (render/displayed_figures.hpp).
  double current_value(const ScreenRow& row, std::size_t at) const;
  double earlier_value(const ScreenRow& row, std::size_t at) const;
  // A tested difference counts only if it is significant.
  bool may_be_finding(const ScreenRow& row, std::size_t at) const;
  bool exceeds(double figure, double earlier, double minimum) const;
  bool exceeds(const ScreenRow& row, std::size_t at, double minimum) const {
    return may_be_finding(row, at) &&
           exceeds(current_value(row, at), earlier_value(row, at), minimum);
  }
  std::span<const RunFacts> last_runs() const { return report_->runs(report_->sides().size() - 1); }

  double first_seconds() const;
  double window_seconds() const;
  std::string duration_in_window(double percent) const;
  std::string window_duration() const;
  // Returns text such as "; %wait 0.4→187 since the first window".
  std::string describe_change(const ScreenRow& row, std::size_t at) const;

  Finding make_finding(std::string_view rule, const ScreenRow& row, std::string statement,
                       double weight, NextStep next) const;

  const Report* report_;
  const Screen* screen_;
  // Columns with these roles.
  std::optional<std::size_t> run_, wait_, resident_;

 private:
  std::string unit(std::size_t at) const;
};

}  // namespace ctprof
