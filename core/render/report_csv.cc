#include "core/render/report_csv.hpp"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/allowance.hpp"
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
std::string digits(const Number& number) {
  std::string json;
  append_json(json, number);
  return json == "null" ? "" : json;
}

// A value in two columns, one for numbers and one for text. One of them is empty.
struct Field {
  std::string number, text;
};

struct Between {
  Field delta;
  std::string pct, rate;
};

// The figures in a line for a metric, or for one key of a map.
struct Figures {
  std::string_view key, unit;
  bool per_second;
  std::vector<Field> of;         // by side
  std::vector<Between> between;  // of each side but the first
  std::string change{};
};

class CsvWriter {
 public:
  CsvWriter(const Report& report, Sink& sink, bool is_safe)
      : report_(&report),
        sink_(&sink),
        is_safe_(is_safe),
        sides_(report.sides().size()),
        allowance_(report.sides()) {}

  Result<std::size_t> write() {
    write_header();
    tell(*report_, RowKind::Section, [&](const ReportRow& row) {
      if (row.kind == RowKind::Metric) write_row(row, std::nullopt);
    });
    tell(*report_, RowKind::Stacks, [&](const ReportRow& row) { take_stacks(row); });
    tell(*report_, RowKind::OnlyIn, [&](const ReportRow& row) {
      if (row.kind == RowKind::Figure) write_row(row, row.side);
    });
    tell(*report_, RowKind::Failed, [&](const ReportRow& row) {
      if (row.kind == RowKind::Failed && !told_.contains({row.at.group, row.at.metric}))
        write_row(row, only_side(row));
    });
    hand_on();
    if (!handed_on_) return handed_on_.error();
    return left_out_;
  }

 private:
  bool has_three_keys() const { return report_->spec().group_by == GroupBy::All; }
  // Returns whether the report shows the changes over a window.
  bool is_window() const {
    return !report_->compares() && report_->sides().front().window.has_value();
  }
  bool tells_failed() const { return !report_->spec().fail_on.empty(); }
  bool tells_runs() const { return tells_several_runs(*report_); }

  // Calls each(suffix) for each candidate: "" for delta, "_2" for delta_2 and so on.
  template <class Each>
  void for_each_candidate(Each each) const {
    for (std::size_t side = 1; side < sides_; ++side)
      each(side == 1 ? std::string() : "_" + std::to_string(side));
  }

  void write_header() {
    if (report_->compares()) field("side");
    field("section");
    for (const char* key :
         has_three_keys() ? std::vector{"cgroup", "pcomm", "comm"} : std::vector{"group"})
      field(key);
    for (const char* name : {"metric", "key", "unit"}) field(name);
    if (report_->rollup().tells_rates()) field("per_second");
    if (report_->compares())
      write_header_of_sides();
    else
      write_header_of_one();
    end_line();
  }

  void write_header_of_one() {
    field("value");
    if (is_window()) field("change");
    field("text");
    if (tells_runs()) field("runs");
    for (const char* name : {"threads", "values", "rows", "parts", "parts_of"}) field(name);
    if (tells_failed()) field("failed");
  }

  void write_header_of_sides() {
    for (std::size_t side = 0; side < sides_; ++side) field(side_name(side));
    for_each_candidate([&](const std::string& which) {
      field("delta" + which);
      field("pct" + which);
    });
    for (std::size_t side = 0; side < sides_; ++side) field("text_" + side_name(side));
    for_each_candidate([&](const std::string& which) { field("text_delta" + which); });
    for (std::size_t side = 0; report_->tells_lives() && side < sides_; ++side)
      field("per_life_" + side_name(side));
    for (std::size_t side = 0; tells_runs() && side < sides_; ++side)
      field("runs_" + side_name(side));
    for (std::size_t side = 0; side < sides_; ++side) field("threads_" + side_name(side));
    for (std::size_t side = 0; side < sides_; ++side) {
      field("values_" + side_name(side));
      field("rows_" + side_name(side));
    }
    for (std::size_t side = 0; side < sides_; ++side) {
      field("parts_" + side_name(side));
      field("parts_of_" + side_name(side));
    }
    for_each_candidate([&](const std::string& which) {
      for (const char* name : {"delta_alive", "delta_new", "delta_gone", "threads_alive",
                               "threads_new", "threads_gone"})
        field(name + which);
      if (report_->spec().rate) field("rate" + which);
      for (const char* name : {"shift", "low", "high", "p", "proven"})
        if (report_->families().judge()) field(name + which);
    });
    if (tells_failed()) field("failed");
  }

  // Returns the only side that has the row's group; nothing if several have it.
  std::optional<std::size_t> only_side(const ReportRow& row) const {
    if (row.metric->entity == Entity::Host) return {};
    std::optional<std::size_t> only;
    for (std::size_t side = 0; side < sides_; ++side) {
      if (!report_->grouping().has(side, row.at.group)) continue;
      if (only) return {};
      only = side;
    }
    return only;
  }

  // Writes the lines of functions and stacks: two for a function, one for a stack.
  void take_stacks(const ReportRow& row) {
    if (row.kind == RowKind::Stacks) return;
    if (allowance_.is_spent()) return void(++left_out_);
    const StackBook& book = report_->stacks()->book();
    const auto only = only_side(row);
    if (row.kind == RowKind::Stack)
      return write_line(
          row, only,
          of_weights(row, "stack " + stack_text(book, row.stack->stack, 0), row.stack->sides));
    const std::string name = function_in_module(book.functions()[row.function->function]);
    for (const auto& [what, figure] :
         {std::pair("self ", &FunctionWeight::self), {"total ", &FunctionWeight::total}})
      write_line(row, only, of_weights(row, what + name, figures(*row.function, figure)));
  }

  // `only`: the only side that has the group.
  void write_row(const ReportRow& row, std::optional<std::size_t> only) {
    if (allowance_.is_spent()) return void(++left_out_);
    if (tells_failed() && row.fails) told_.emplace(row.at.group, row.at.metric);
    for (std::size_t at = 0; at < row.key_count(); ++at) write_line(row, only, of_key(row.key(at)));
    if (row.keys.empty()) write_line(row, only, whole(row));
  }

  Figures empty_figures(std::string_view key, std::string_view unit, bool per_second) const {
    return {key, unit_told(unit), per_second, std::vector<Field>(sides_),
            std::vector<Between>(sides_ - 1)};
  }

  Figures of_key(std::span<const KeyFigure> key) const {
    Figures figures = empty_figures(key.front().key, key.front().unit, key.front().per_second);
    for (std::size_t side = 0; side < sides_; ++side)
      figures.of[side].number = digits(key[side].number);
    figures.change = digits(key.front().change);
    for (std::size_t side = 1; side < sides_; ++side)
      figures.between[side - 1] = {
          {digits(key[side].difference), {}}, digits(key[side].pct), digits(key[side].rate)};
    return figures;
  }

  // Returns the figures of a function or stack.
  Figures of_weights(const ReportRow& row, std::string_view key,
                     const std::vector<double>& sides) const {
    Figures figures = empty_figures(key, row.metric->unit, row.per_second);
    for (std::size_t side = 0; side < sides_; ++side)
      figures.of[side].number = digits(as_number(sides[side]));
    for (std::size_t side = 1; side < sides_; ++side) {
      const Difference moved = difference(as_number(sides[0]), as_number(sides[side]));
      figures.between[side - 1] = {
          {digits(moved), {}}, digits(percent_of(moved, as_number(sides[0]))), {}};
    }
    return figures;
  }

  Figures whole(const ReportRow& row) const {
    Figures figures = empty_figures({}, row.metric->unit, row.per_second);
    for (std::size_t side = 0; side < sides_; ++side) figures.of[side] = value(row.sides[side].at);
    figures.change = digits(row.sides.front().change);
    if (row.metric->is_map()) return figures;
    for (std::size_t i = 0; i < row.changes.size(); ++i) {
      const Change& change = row.changes[i].change;
      figures.between[i].pct = digits(change.pct);
      figures.between[i].rate = digits(row.changes[i].rate);
      if (change.difference.known())
        figures.between[i].delta.number = digits(change.difference);
      else
        figures.between[i].delta.text = printable(change.word);
    }
    return figures;
  }

  // Returns a number as in JSON. Words and objects of JSON become text.
  Field value(CellAt at) const {
    std::string json;
    report_->rollup().append_json(json, at);
    if (json == "null") return {};
    if (json.front() == '-' || (json.front() >= '0' && json.front() <= '9')) return {json, {}};
    if (json.front() == '{' || json.front() == '[')
      return {{}, printable(report_->rollup().text(at))};
    if (json == "\"max\"") return {{}, "max"};
    return {{}, json.front() == '"' ? printable(report_->rollup().text(at)) : json};
  }

  void write_line(const ReportRow& row, std::optional<std::size_t> only, const Figures& figures) {
    if (report_->compares()) field(only ? side_name(*only) : "both");
    text_field(printable(row.metric->section));
    write_group(row.group);
    text_field(printable(row.metric->name));
    text_field(printable(figures.key));
    text_field(printable(figures.unit));
    if (report_->rollup().tells_rates()) field(figures.per_second ? "true" : "false");
    for (const Field& value : figures.of) field(value.number);
    if (is_window()) field(figures.change);
    for (const Between& one : figures.between) field(one.delta.number), field(one.pct);
    for (const Field& value : figures.of) text_field(value.text);
    for (const Between& one : figures.between) text_field(one.delta.text);
    if (report_->tells_lives())
      for (const SideFigure& figure : row.sides)
        field(figures.key.empty() ? digits(figure.per_life) : "");
    if (tells_runs())
      for (const SideFigure& figure : row.sides) field(std::to_string(figure.runs));
    for (const SideFigure& figure : row.sides) field(count_text(figure.threads));
    for (const SideFigure& figure : row.sides) {
      field(std::to_string(figure.coverage.values));
      field(std::to_string(figure.coverage.rows));
    }
    for (const SideFigure& figure : row.sides) write_made_of(figure.made_of);
    for (std::size_t i = 0; i < row.changes.size(); ++i)
      write_change(row.changes[i], figures.between[i].rate, figures.key.empty());
    if (tells_failed()) field(row.fails ? "true" : "false");
    end_line();
  }

  // Writes the changes of the whole row. Its test result does not apply to single keys.
  void write_change(const SideChange& told, const std::string& rate, bool is_whole) {
    for (const auto part : {&Origin::alive, &Origin::fresh, &Origin::gone})
      field(told.origin ? digits((*told.origin).*part) : "");
    for (const auto count : {&Turnover::alive, &Turnover::fresh, &Turnover::gone})
      field(told.turnover ? std::to_string((*told.turnover).*count) : "");
    if (report_->spec().rate) field(rate);
    if (!report_->families().judge()) return;
    const bool is_told = is_whole && told.proof;
    for (const auto figure : {&Proof::shift, &Proof::low, &Proof::high, &Proof::p})
      field(is_told ? digits((*told.proof).*figure) : "");
    field(!is_told ? "" : told.proof->proven ? "true" : "false");
  }

  void write_made_of(const MadeOf& made_of) {
    field(made_of.has_parts() ? std::to_string(made_of.present()) : "");
    field(made_of.has_parts() ? std::to_string(made_of.possible()) : "");
  }

  void write_group(std::string_view name) {
    const auto parts = key_parts(name);
    for (std::size_t i = 0; i < (has_three_keys() ? 3 : 1); ++i)
      text_field(i < parts.size() ? printable(parts[i]) : "");
  }

  // Writes a field that is not a number.
  void text_field(const std::string& text) {
    field(is_safe_ && looks_like_formula(text) ? "'" + text : text);
  }
  void field(std::string_view text) {
    if (!at_line_begin_) out_ += ',';
    at_line_begin_ = false;
    out_ += csv_text(text);
  }
  void end_line() {
    out_ += '\n';
    at_line_begin_ = true;
    allowance_.spend(out_.size() - paid_);
    paid_ = out_.size();
    if (out_.size() < Sink::kPiece) return;
    hand_on();
  }
  void hand_on() {
    if (handed_on_) handed_on_ = sink_->write(out_);
    out_.clear();
    paid_ = 0;
  }

  const Report* report_;
  Sink* sink_;
  bool is_safe_;
  Result<void> handed_on_;
  std::size_t sides_;
  bool at_line_begin_ = true;
  std::string out_;
  Allowance allowance_;
  std::size_t paid_ = 0;      // bytes of `out_` that were charged to the allowance
  std::size_t left_out_ = 0;  // rows beyond the allowance
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // failed rows: group, metric
};

}  // namespace

Result<std::size_t> write_report_csv(const Report& report, Sink& sink, bool is_safe) {
  return CsvWriter(report, sink, is_safe).write();
}

}  // namespace ctprof
