// Appends the table of a page's rows: names, figures, changes with their significance, and a strip
// of runs. The script sorts by the figures in the attributes of a row.

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/page/page_rows.hpp"

namespace ctprof {

// Returns whether rows contain the figures of single runs.
bool has_runs(const PageRows& rows);

// Both arguments must outlive it.
class PageTable {
 public:
  PageTable(const Report& report, const PageRows& rows) : report_(&report), rows_(&rows) {}

  // Appends a table that the script sorts and filters.
  void append_to(std::string& out, const std::vector<PageRow>& rows) const;
  // Appends a table that the script does not change.
  void append_static_to(std::string& out, const std::vector<PageRow>& rows) const;

 private:
  bool compares() const { return report_->is_comparison(); }
  void append_columns(std::string& out) const;
  void append_fitting_rows(std::string& out, const std::vector<PageRow>& rows) const;
  void append_row(std::string& out, const PageRow& row) const;
  void append_change(std::string& out, const PageRow& row) const;
  std::vector<double> get_figures(const PageRow& row) const;

  const Report* report_;
  const PageRows* rows_;
};

}  // namespace ctprof
