#include "core/render/report_csv.hpp"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/row_json.hpp"
#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// Formats a number as JSON does; empty if it is missing.
template <class Number>
std::string format_digits(const Number& number) {
  std::string json;
  append_json(json, number);
  return json == "null" ? "" : json;
}

// A value in two columns, one for numbers and one for text. One of them is empty.
struct Field {
  std::string number, text;
};

struct ChangeFields {
  Field delta;
  std::string pct, rate;
};

// The figures in a line for a metric, or for one key of a map.
struct LineFigures {
  std::string_view key, unit;
  bool per_second;
  std::vector<Field> by_side;         // by side
  std::vector<ChangeFields> changes;  // of each side but the first
  std::string change{};
};

class CsvWriter {
 public:
  CsvWriter(const Report& report, Sink& sink, bool is_safe)
      : report_(&report),
        sink_(&sink),
        escapes_formulas_(is_safe),
        sides_(report.sides().size()),
        allowance_(report.sides()) {}

  Result<std::size_t> write() {
    write_header();
    visit_sections(*report_,
                   {.add_row = [&](const MetricRow& row) { write_row(row, std::nullopt); }});
    visit_stacks(*report_, [&](const MetricRow& row, const StackGroup& group) {
      for (const FunctionRow& function : group.functions) write_function(row, function);
      for (const StackRow& stack : group.stacks) write_stack(row, stack);
    });
    visit_one_sided_groups(*report_, {.add_figure = [&](std::size_t side, const MetricRow& row) {
      write_row(row, side);
    }});
    visit_failed_section(*report_, {.add_row = [&](const MetricRow& row) {
      if (!written_failures_.contains({row.at.group, row.at.metric}))
        write_row(row, find_only_side(row));
    }});
    write_buffer();
    if (!write_result_) return write_result_.error();
    return omitted_rows_;
  }

 private:
  bool has_three_keys() const { return report_->spec().group_by == GroupBy::All; }
  // Returns whether the report shows the changes over a window.
  bool is_window() const {
    return !report_->is_comparison() && report_->sides().front().window.has_value();
  }
  bool has_failed_column() const { return !report_->spec().fail_on.empty(); }
  bool has_runs_column() const { return has_several_runs(*report_); }

  // Calls each(suffix) for each candidate: "" for delta, "_2" for delta_2 and so on.
  template <class Each>
  void for_each_candidate(Each each) const {
    for (std::size_t side = 1; side < sides_; ++side)
      each(side == 1 ? std::string() : "_" + std::to_string(side));
  }

  void write_header() {
    if (report_->is_comparison()) write_field("side");
    write_field("section");
    for (const char* key :
         has_three_keys() ? std::vector{"cgroup", "pcomm", "comm"} : std::vector{"group"})
      write_field(key);
    for (const char* name : {"metric", "key", "unit"}) write_field(name);
    if (report_->rollup().shows_rates()) write_field("per_second");
    if (report_->is_comparison())
      write_header_of_sides();
    else
      write_header_of_one();
    end_line();
  }

  void write_header_of_one() {
    write_field("value");
    if (is_window()) write_field("change");
    write_field("text");
    if (has_runs_column()) write_field("runs");
    for (const char* name : {"threads", "values", "rows", "parts", "parts_of"}) write_field(name);
    if (has_failed_column()) write_field("failed");
  }

  void write_header_of_sides() {
    for (std::size_t side = 0; side < sides_; ++side) write_field(side_name(side));
    for_each_candidate([&](const std::string& suffix) {
      write_field("delta" + suffix);
      write_field("pct" + suffix);
    });
    for (std::size_t side = 0; side < sides_; ++side) write_field("text_" + side_name(side));
    for_each_candidate([&](const std::string& suffix) { write_field("text_delta" + suffix); });
    for (std::size_t side = 0; report_->shows_per_age() && side < sides_; ++side)
      write_field("per_life_" + side_name(side));
    for (std::size_t side = 0; has_runs_column() && side < sides_; ++side)
      write_field("runs_" + side_name(side));
    for (std::size_t side = 0; side < sides_; ++side) write_field("threads_" + side_name(side));
    for (std::size_t side = 0; side < sides_; ++side) {
      write_field("values_" + side_name(side));
      write_field("rows_" + side_name(side));
    }
    for (std::size_t side = 0; side < sides_; ++side) {
      write_field("parts_" + side_name(side));
      write_field("parts_of_" + side_name(side));
    }
    for_each_candidate([&](const std::string& suffix) {
      for (const char* name : {"delta_alive", "delta_new", "delta_gone", "threads_alive",
                               "threads_new", "threads_gone"})
        write_field(name + suffix);
      if (report_->spec().rate) write_field("rate" + suffix);
      for (const char* name : {"shift", "low", "high", "p", "proven"})
        if (report_->families().can_test()) write_field(name + suffix);
    });
    if (has_failed_column()) write_field("failed");
  }

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

  // Writes two lines.
  void write_function(const MetricRow& row, const FunctionRow& function) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    const StackBook& book = report_->stacks()->book();
    const auto only = find_only_side(row);
    const std::string name = format_function_with_module(book.functions()[function.function]);
    for (const auto& [key_prefix, figure] :
         {std::pair("self ", &FunctionWeight::self), {"total ", &FunctionWeight::total}})
      write_line(row, only, make_weight_figures(row, key_prefix + name, figures(function, figure)));
  }

  void write_stack(const MetricRow& row, const StackRow& stack) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    const std::string name = format_stack(report_->stacks()->book(), stack.stack, 0);
    write_line(row, find_only_side(row), make_weight_figures(row, "stack " + name, stack.sides));
  }

  // `only_side`: the only side that has the group.
  void write_row(const MetricRow& row, std::optional<std::size_t> only_side) {
    if (allowance_.is_spent()) return void(++omitted_rows_);
    if (has_failed_column() && row.matches_fail_on)
      written_failures_.emplace(row.at.group, row.at.metric);
    for (std::size_t at = 0; at < row.key_count(); ++at)
      write_line(row, only_side, make_key_figures(row.key(at)));
    if (row.keys.empty()) write_line(row, only_side, make_row_figures(row));
  }

  LineFigures make_empty_figures(std::string_view key, std::string_view unit,
                                 bool per_second) const {
    return {key, get_output_unit(unit), per_second, std::vector<Field>(sides_),
            std::vector<ChangeFields>(sides_ - 1)};
  }

  LineFigures make_key_figures(std::span<const KeyFigure> key) const {
    LineFigures figures =
        make_empty_figures(key.front().key, key.front().unit, key.front().is_per_second);
    for (std::size_t side = 0; side < sides_; ++side)
      figures.by_side[side].number = format_digits(key[side].number);
    figures.change = format_digits(key.front().change);
    for (std::size_t side = 1; side < sides_; ++side)
      figures.changes[side - 1] = {{format_digits(key[side].difference), {}},
                                   format_digits(key[side].pct),
                                   format_digits(key[side].rate)};
    return figures;
  }

  // Returns the figures of a function or stack.
  LineFigures make_weight_figures(const MetricRow& row, std::string_view key,
                                  const std::vector<double>& sides) const {
    LineFigures figures = make_empty_figures(key, row.metric->unit, row.is_per_second);
    for (std::size_t side = 0; side < sides_; ++side)
      figures.by_side[side].number = format_digits(as_number(sides[side]));
    for (std::size_t side = 1; side < sides_; ++side) {
      const Difference change = difference(as_number(sides[0]), as_number(sides[side]));
      figures.changes[side - 1] = {{format_digits(change), {}},
                                   format_digits(fraction_of_baseline(change, as_number(sides[0]))),
                                   {}};
    }
    return figures;
  }

  LineFigures make_row_figures(const MetricRow& row) const {
    LineFigures figures = make_empty_figures({}, row.metric->unit, row.is_per_second);
    for (std::size_t side = 0; side < sides_; ++side)
      figures.by_side[side] = make_field(row.sides[side].at);
    figures.change = format_digits(row.sides.front().change);
    if (row.metric->is_map()) return figures;
    for (std::size_t i = 0; i < row.changes.size(); ++i) {
      const Change& change = row.changes[i].change;
      figures.changes[i].pct = format_digits(change.pct);
      figures.changes[i].rate = format_digits(row.changes[i].rate);
      if (change.difference.is_known())
        figures.changes[i].delta.number = format_digits(change.difference);
      else
        figures.changes[i].delta.text = make_printable(change.rule_text);
    }
    return figures;
  }

  // Returns a number as in JSON. Words and objects of JSON become text.
  Field make_field(CellPosition at) const {
    std::string json;
    report_->rollup().append_json(json, at);
    if (json == "null") return {};
    if (json.front() == '-' || (json.front() >= '0' && json.front() <= '9')) return {json, {}};
    if (json.front() == '{' || json.front() == '[')
      return {{}, make_printable(report_->rollup().text(at))};
    if (json == "\"max\"") return {{}, "max"};
    return {{}, json.front() == '"' ? make_printable(report_->rollup().text(at)) : json};
  }

  void write_line(const MetricRow& row, std::optional<std::size_t> only,
                  const LineFigures& figures) {
    if (report_->is_comparison()) write_field(only ? side_name(*only) : "both");
    write_text_field(make_printable(row.metric->section));
    write_group(row.group);
    write_text_field(make_printable(row.metric->name));
    write_text_field(make_printable(figures.key));
    write_text_field(make_printable(figures.unit));
    if (report_->rollup().shows_rates()) write_field(figures.per_second ? "true" : "false");
    for (const Field& value : figures.by_side) write_field(value.number);
    if (is_window()) write_field(figures.change);
    for (const ChangeFields& one : figures.changes)
      write_field(one.delta.number), write_field(one.pct);
    for (const Field& value : figures.by_side) write_text_field(value.text);
    for (const ChangeFields& one : figures.changes) write_text_field(one.delta.text);
    if (report_->shows_per_age())
      for (const SideFigure& figure : row.sides)
        write_field(figures.key.empty() ? format_digits(figure.per_second_of_age) : "");
    if (has_runs_column())
      for (const SideFigure& figure : row.sides) write_field(std::to_string(figure.runs));
    for (const SideFigure& figure : row.sides) write_field(format_decimal_count(figure.threads));
    for (const SideFigure& figure : row.sides) {
      write_field(std::to_string(figure.coverage.values));
      write_field(std::to_string(figure.coverage.rows));
    }
    for (const SideFigure& figure : row.sides) write_parts(figure.derived_parts);
    for (std::size_t i = 0; i < row.changes.size(); ++i)
      write_change(row.changes[i], figures.changes[i].rate, figures.key.empty());
    if (has_failed_column()) write_field(row.matches_fail_on ? "true" : "false");
    end_line();
  }

  // Writes the changes of the whole row. Its test result does not apply to single keys.
  void write_change(const SideChange& side_change, const std::string& rate, bool is_whole_row) {
    for (const auto part :
         {&DifferenceOrigin::staying, &DifferenceOrigin::added, &DifferenceOrigin::removed})
      write_field(side_change.difference_origin
                      ? format_digits((*side_change.difference_origin).*part)
                      : "");
    for (const auto count : {&Turnover::staying, &Turnover::added, &Turnover::removed})
      write_field(side_change.turnover ? std::to_string((*side_change.turnover).*count) : "");
    if (report_->spec().rate) write_field(rate);
    if (!report_->families().can_test()) return;
    const bool has_result = is_whole_row && side_change.test_result;
    for (const auto figure :
         {&RowTestResult::shift, &RowTestResult::low, &RowTestResult::high, &RowTestResult::p})
      write_field(has_result ? format_digits((*side_change.test_result).*figure) : "");
    write_field(!has_result ? "" : side_change.test_result->is_significant ? "true" : "false");
  }

  void write_parts(const DerivedParts& made_of) {
    write_field(made_of.has_parts() ? std::to_string(made_of.count_present()) : "");
    write_field(made_of.has_parts() ? std::to_string(made_of.count_possible()) : "");
  }

  void write_group(std::string_view name) {
    const auto parts = key_parts(name);
    for (std::size_t i = 0; i < (has_three_keys() ? 3 : 1); ++i)
      write_text_field(i < parts.size() ? make_printable(parts[i]) : "");
  }

  // Writes a field that is not a number.
  void write_text_field(const std::string& text) {
    write_field(escapes_formulas_ && looks_like_formula(text) ? "'" + text : text);
  }
  void write_field(std::string_view text) {
    if (!is_at_line_start_) out_ += ',';
    is_at_line_start_ = false;
    out_ += csv_text(text);
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
  bool is_at_line_start_ = true;
  std::string out_;
  Allowance allowance_;
  std::size_t charged_bytes_ = 0;  // bytes of `out_` that were charged to the allowance
  std::size_t omitted_rows_ = 0;   // rows beyond the allowance
  std::set<std::pair<std::uint32_t, std::uint32_t>>
      written_failures_;  // failed rows: group, metric
};

}  // namespace

Result<std::size_t> write_report_csv(const Report& report, Sink& sink, bool escapes_formulas) {
  return CsvWriter(report, sink, escapes_formulas).write();
}

}  // namespace ctprof
