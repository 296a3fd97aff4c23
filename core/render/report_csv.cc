#include "core/render/report_csv.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/registry/map_labels.hpp"
#include "core/render/csv_columns.hpp"
#include "core/render/csv_figures.hpp"
#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string csv_text(std::string_view text, std::string_view quoted_characters = ",\"\r\n") {
  if (text.find_first_of(quoted_characters) == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

class CsvWriter {
 public:
  CsvWriter(const Report& report, Sink& sink, bool is_safe)
      : report_(&report),
        sink_(&sink),
        escapes_formulas_(is_safe),
        sides_(report.sides().size()),
        labels_(list_csv_labels(report)),
        allowance_(report.sides()) {}

  Result<std::size_t> write() {
    for (const std::string& column : list_csv_columns(*report_)) write_field(column);
    end_line();
    visit_sections(*report_,
                   {.add_row = [&](const MetricRow& row) { write_row(row, std::nullopt); }});
    visit_stacks(*report_, [&](const MetricRow& row, const StackGroup& group) {
      for (const FunctionRow& function : group.functions) write_function(row, function);
      for (const StackRow& stack : group.stacks) write_stack(row, stack);
    });
    visit_one_sided_groups(*report_, {.add_figure = [&](std::size_t side, const MetricRow& row) {
      write_row(row, side);
    }});
    visit_fail_on_section(*report_, {.add_row = [&](const MetricRow& row) {
      if (!written_failures_.contains({row.at.group, row.at.metric}))
        write_row(row, find_only_side(row));
    }});
    write_buffer();
    if (!write_result_) return write_result_.error();
    return omitted_rows_;
  }

 private:
  // Returns the only side that has the row's group; nothing if several have it.
  std::optional<std::size_t> find_only_side(const MetricRow& row) const {
    if (row.metric->entity == Entity::Host) return {};
    std::optional<std::size_t> only_side;
    for (std::size_t side = 0; side < sides_; ++side) {
      if (!report_->grouping().has_group(side, row.at.group)) continue;
      if (only_side) return {};
      only_side = side;
    }
    return only_side;
  }

  // Writes two lines for the function: its self and its total weight.
  void write_function(const MetricRow& row, const FunctionRow& function) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    const CommonStacks& common = report_->stacks()->common_stacks();
    const auto only = find_only_side(row);
    const std::string name = format_function_with_module(common.functions()[function.function]);
    for (const auto& [key_prefix, figure] :
         {std::pair("self ", &FunctionWeight::self), {"total ", &FunctionWeight::total}})
      write_line(row, only,
                 make_weight_csv_figures(row, key_prefix + name, figures(function, figure)));
  }

  void write_stack(const MetricRow& row, const StackRow& stack) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    const std::string name = format_stack(report_->stacks()->common_stacks(), stack.stack, 0);
    write_line(row, find_only_side(row),
               make_weight_csv_figures(row, "stack " + name, stack.sides));
  }

  // `only_side`: the only side that has the group.
  void write_row(const MetricRow& row, std::optional<std::size_t> only_side) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    if (has_failed_column(*report_) && row.matches_fail_on)
      written_failures_.emplace(row.at.group, row.at.metric);
    for (std::size_t at = 0; at < row.key_count(); ++at)
      write_line(row, only_side, make_key_csv_figures(row.key(at)));
    if (row.keys.empty()) write_line(row, only_side, make_row_csv_figures(*report_, row));
  }

  void write_line(const MetricRow& row, std::optional<std::size_t> only,
                  const CsvFigures& figures) {
    if (report_->is_comparison()) write_field(only ? side_name(*only) : "both");
    write_text_field(make_printable(row.metric->section));
    write_group(row.group);
    write_text_field(make_printable(row.metric->name));
    write_text_field(make_printable(figures.key));
    write_text_field(make_printable(figures.unit));
    if (report_->rollup().shows_rates()) write_field(figures.per_second ? "true" : "false");
    for (const CsvField& value : figures.by_side) write_field(value.number);
    if (shows_window(*report_)) write_field(figures.change);
    for (const CsvChange& one : figures.changes)
      write_field(one.delta.number), write_field(one.pct);
    for (const CsvField& value : figures.by_side) write_text_field(value.text);
    for (const CsvChange& one : figures.changes) write_text_field(one.delta.text);
    if (report_->shows_per_age())
      for (const SideFigure& figure : row.sides)
        write_field(figures.key.empty() ? format_csv_number(figure.per_second_of_age) : "");
    if (has_several_runs(*report_))
      for (const SideFigure& figure : row.sides) write_field(std::to_string(figure.runs));
    for (const SideFigure& figure : row.sides) write_field(format_decimal_count(figure.threads));
    for (const SideFigure& figure : row.sides) {
      write_field(std::to_string(figure.coverage.values));
      write_field(std::to_string(figure.coverage.rows));
    }
    for (const SideFigure& figure : row.sides) write_parts(figure.derived_parts);
    for (std::size_t i = 0; i < row.changes.size(); ++i)
      write_change(row.changes[i], figures.changes[i].rate, figures.key.empty());
    if (has_failed_column(*report_)) write_field(row.matches_fail_on ? "true" : "false");
    write_labels(*row.metric, figures.key);
    end_line();
  }

  // Writes the values of the labels of a map's key; empty fields for other rows.
  void write_labels(const PlannedMetric& metric, std::string_view key) {
    const auto names = label_names(metric.labels);
    const auto values = label_values(metric.labels, key);
    for (const std::string& label : labels_) {
      const auto at = static_cast<std::size_t>(std::ranges::find(names, label) - names.begin());
      write_text_field(at < names.size() && !key.empty() ? make_printable(values[at]) : "");
    }
  }

  // Writes the changes of the whole row. Its test result does not apply to single keys.
  void write_change(const SideChange& side_change, const std::string& rate, bool is_whole_row) {
    for (const auto part :
         {&DifferenceOrigin::staying, &DifferenceOrigin::added, &DifferenceOrigin::removed})
      write_field(side_change.difference_origin
                      ? format_csv_number((*side_change.difference_origin).*part)
                      : "");
    for (const auto count : {&Turnover::staying, &Turnover::added, &Turnover::removed})
      write_field(side_change.turnover ? std::to_string((*side_change.turnover).*count) : "");
    if (report_->spec().rate) write_field(rate);
    if (!report_->families().can_test()) return;
    const bool has_result = is_whole_row && side_change.test_result;
    for (const auto figure :
         {&RowTestResult::shift, &RowTestResult::low, &RowTestResult::high, &RowTestResult::p})
      write_field(has_result ? format_csv_number((*side_change.test_result).*figure) : "");
    write_field(!has_result ? "" : side_change.test_result->is_significant ? "true" : "false");
  }

  void write_parts(const DerivedParts& made_of) {
    write_field(made_of.has_parts() ? std::to_string(made_of.count_present()) : "");
    write_field(made_of.has_parts() ? std::to_string(made_of.count_possible()) : "");
  }

  void write_group(std::string_view name) {
    const auto parts = key_parts(name);
    for (std::size_t i = 0; i < (has_three_keys(*report_) ? 3 : 1); ++i)
      write_text_field(i < parts.size() ? make_printable(parts[i]) : "");
  }

  // Writes a field that is not a number. With --csv-safe, a text with ; is quoted too, because some
  // spreadsheets separate fields by it.
  void write_text_field(const std::string& text) {
    if (!escapes_formulas_) return write_field(text);
    begin_field();
    out_ += csv_text(looks_like_formula(text) ? "'" + text : text, ",;\t\"\r\n");
  }
  void write_field(std::string_view text) {
    begin_field();
    out_ += csv_text(text);
  }
  void begin_field() {
    if (!is_at_line_start_) out_ += ',';
    is_at_line_start_ = false;
  }
  void end_line() {
    out_ += '\n';
    is_at_line_start_ = true;
    allowance_.spend(out_.size() - charged_bytes_);
    charged_bytes_ = out_.size();
    if (out_.size() < Sink::kFlushBytes) return;
    write_buffer();
  }
  void write_buffer() {
    if (write_result_) write_result_ = sink_->write(out_);
    out_.clear();
    charged_bytes_ = 0;
  }

  const Report* report_;
  Sink* sink_;
  bool escapes_formulas_;
  Result<void> write_result_;
  std::size_t sides_;
  std::vector<std::string> labels_;
  bool is_at_line_start_ = true;
  std::string out_;
  Allowance allowance_;
  std::size_t charged_bytes_ = 0;  // bytes of `out_` that were charged to the allowance
  std::size_t omitted_rows_ = 0;   // rows beyond the allowance
  // Failed rows: group, metric.
  std::set<std::pair<std::uint32_t, std::uint32_t>> written_failures_;
};

}  // namespace

Result<std::size_t> write_report_csv(const Report& report, Sink& sink, bool escapes_formulas) {
  return CsvWriter(report, sink, escapes_formulas).write();
}

}  // namespace ctprof
