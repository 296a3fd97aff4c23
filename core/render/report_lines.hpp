// Builds the lines of the text tables: one for each row of a report, and for each key of a map.
//
// See also: report_text.cc (the tables), columns.hpp (the columns), terminal_text.hpp (the layout).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/columns.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// One line of a table before its layout.
struct TableLine {
  std::string group, threads, metric, tags, baseline, candidate, arrow, delta, pct, shift, p, rate,
      change_origin, per_life, format_uptime, runs, readings;
  Tint tint = Tint::Plain;
  TextCell sorted_by{};
};

// Returns the approximate size of a line in bytes, including its texts in memory and in the output.
std::size_t get_line_size(const TableLine& line);

// Returns a group's name for display; under `all` "cgroup > process > thread". A renamed cgroup has
// both of its names.
std::string format_group(const Grouping& grouping, std::string_view name);

class ReportLines {
 public:
  ReportLines(const Report& report, const ColumnChoice& choice);

  void add(const MetricRow& row);

  // Charges the lines so far to the allowance. Returns whether the allowance covers another row.
  bool charge_lines(Allowance& allowance);

  void append_to(std::string& out, const TextLayout& layout);

 private:
  void add_nonempty_columns();
  TextColumn make_report_column(ReportColumn column) const;
  std::vector<TextCell> make_cells(const TableLine& line) const;
  static TextCell make_cell(const TableLine& line, ReportColumn column);

  TableLine make_line(const MetricRow& row) const;
  std::string format_uptime(std::uint32_t group) const;
  TextCell make_sort_cell(const MetricRow& row) const;
  std::string format_value(CellPosition at) const;
  TableLine make_value_line(const MetricRow& row) const;
  TableLine make_change_line(const MetricRow& row) const;
  bool has_tests() const;
  void add_change(TableLine& line, const MetricRow& row, const SideChange& side_change) const;
  std::string format_rate(std::string_view unit, double per_second) const;
  void add_keys(const MetricRow& row);
  TableLine make_key_line(const MetricRow& row, std::span<const KeyFigure> key) const;
  void align_arrows();

  const Report* report_;
  ColumnChoice choice_;
  const std::string* sort_metric_ = nullptr;  // the first sort key, if it is a metric
  std::vector<double> uptimes_;               // by group; empty if not requested
  std::vector<TableLine> lines_;
  std::size_t charged_lines_ = 0;  // number of lines that were charged to the allowance
};

}  // namespace ctprof
