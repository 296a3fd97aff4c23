#include "core/render/report_lines.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/number.hpp"
#include "core/compare/figures/change.hpp"
#include "core/registry/map_labels.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/row_texts.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// Changes beyond this fraction are highlighted.
constexpr double kLargeChange = 0.5;
// Baselines are padded to at most this width to align the arrows; longer texts are not padded.
constexpr std::size_t kMaxPaddedWidth = 10;

Tint choose_tint(const Difference& difference, double pct) {
  if (!difference.is_known() || difference.is_zero()) return Tint::Plain;
  const bool is_large = std::fabs(pct) > kLargeChange;
  if (difference.is_negative) return is_large ? Tint::MuchLess : Tint::Less;
  return is_large ? Tint::MuchMore : Tint::More;
}

// Appends the text of another candidate.
void append_candidate_text(std::string& out, const std::string& text) {
  if (!text.empty()) out += (out.empty() ? "" : " | ") + text;
}

// Puts each tag in brackets, as in metric-list.
std::string format_tags(const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += "[" + make_printable_short(tag) + "]";
  return text;
}

// Formats a number or a difference, which may be per second.
template <class Number>
std::string format_number(const Number& number, std::string_view unit, bool per_second) {
  const std::string text = format_scaled(number, unit);
  return per_second && text != "-" ? text + "/s" : text;
}

// Returns the total per second of lifetime; empty if no side has such a value.
std::string format_per_life(const MetricRow& row) {
  std::vector<std::string> rates;
  bool has_value_on_any_side = false;
  for (const SideFigure& figure : row.sides) {
    const ctprof_number rate =
        std::isnan(figure.per_second_of_age) ? no_number() : make_number(figure.per_second_of_age);
    rates.push_back(format_number(rate, row.metric->unit, true));
    has_value_on_any_side = has_value_on_any_side || has_value(rate);
  }
  return has_value_on_any_side ? join_with_arrow(rates) : "";
}

// Returns "~ +3% (-2 to +9)" for a change that is not significant.
std::string format_marked_shift(const RowTestResult& test_result) {
  return (test_result.is_significant ? "" : std::string(kNotSignificant) + " ") +
         format_shift(remove_floor(test_result));
}

// Returns whether no change of the row is significant, or none was tested.
bool is_not_significant(const MetricRow& row) {
  return std::ranges::none_of(row.changes, [](const SideChange& change) {
    return change.test_result && change.test_result->is_significant;
  });
}

std::string format_map_key(const MetricRow& row, std::string_view key) {
  return make_printable_short(row.metric->name) + "[" +
         make_printable_short(format_labelled_key(row.metric->labels, key)) + "]";
}

}  // namespace

std::size_t get_line_size(const TableLine& line) {
  constexpr std::size_t kFixedSize = 512;
  return kFixedSize + 2 * (line.group.size() + line.metric.size() + line.tags.size() +
                           line.baseline.size() + line.candidate.size());
}

std::string format_group(const Grouping& grouping, std::string_view name) {
  std::string text;
  for (const std::string_view part : key_parts(name)) {
    const bool is_first = part.data() == name.data();
    if (!is_first) text += " > ";
    text += part.empty() ? "(no name)" : make_printable_short(part);
    if (const auto after = is_first ? find_candidate_cgroup(grouping, name) : std::string_view{};
        !after.empty())
      text += " → " + make_printable_short(after);
  }
  return text;
}

ReportLines::ReportLines(const Report& report, const ColumnChoice& choice)
    : report_(&report), choice_(choice) {
  if (choice_.contains(ReportColumn::Uptime))
    uptimes_ = group_lifetime_shares(report.rollup(), report.grouping());
  const auto& sort = report.spec().sort;
  if (report.is_comparison() && !sort.empty() && sort.front().by == SortKey::Criterion::Metric)
    sort_metric_ = &sort.front().metric;
}

void ReportLines::add(const MetricRow& row) {
  if (row.metric->is_map())
    add_keys(row);
  else
    lines_.push_back(report_->is_comparison() ? make_change_line(row) : make_value_line(row));
}

bool ReportLines::charge_lines(Allowance& allowance) {
  std::size_t size = 0;
  for (; charged_lines_ < lines_.size(); ++charged_lines_)
    size += get_line_size(lines_[charged_lines_]);
  allowance.spend(size);
  return !allowance.is_spent();
}

void ReportLines::append_to(std::string& out, const TextLayout& layout) {
  if (choice_.contains(ReportColumn::Arrow)) align_arrows();
  if (!choice_.is_user_list) add_nonempty_columns();
  if (sort_metric_) choice_.columns.push_back(ReportColumn::SortedBy);
  std::vector<TextColumn> columns;
  for (const ReportColumn column : choice_.columns) columns.push_back(make_report_column(column));
  TextTable table(std::move(columns));
  for (const TableLine& line : lines_) table.add_row(make_cells(line));
  table.append_to(out, layout);
}

// Adds the optional columns in which at least one line has a text.
void ReportLines::add_nonempty_columns() {
  const auto add = [&](ReportColumn column, std::string TableLine::*text) {
    const bool has_text = std::any_of(lines_.begin(), lines_.end(),
                                      [&](const TableLine& line) { return !(line.*text).empty(); });
    if (has_text) choice_.columns.push_back(column);
  };
  add(ReportColumn::Shift, &TableLine::shift);
  add(ReportColumn::P, &TableLine::p);
  add(ReportColumn::Rate, &TableLine::rate);
  add(ReportColumn::ChangeOrigin, &TableLine::change_origin);
  add(ReportColumn::PerLife, &TableLine::per_life);
  if (has_several_runs(*report_)) add(ReportColumn::Runs, &TableLine::runs);
  add(ReportColumn::Readings, &TableLine::readings);
}

TextColumn ReportLines::make_report_column(ReportColumn column) const {
  TextColumn found = make_text_column(column);
  if (column == ReportColumn::SortedBy) found.header = make_printable_short(*sort_metric_);
  // The user's columns are kept, and so is a difference that no other column shows.
  const bool shows_sides =
      choice_.contains(ReportColumn::Arrow) || choice_.contains(ReportColumn::Baseline);
  if (choice_.is_user_list || (column == ReportColumn::Delta && !shows_sides))
    found.is_optional = false;
  return found;
}

std::vector<TextCell> ReportLines::make_cells(const TableLine& line) const {
  std::vector<TextCell> row;
  for (const ReportColumn column : choice_.columns) row.push_back(make_cell(line, column));
  return row;
}

TextCell ReportLines::make_cell(const TableLine& line, ReportColumn column) {
  switch (column) {
    case ReportColumn::Group: return {line.group};
    case ReportColumn::Threads: return {line.threads};
    case ReportColumn::Metric: return {line.metric};
    case ReportColumn::Tags: return {line.tags};
    case ReportColumn::Baseline: return {line.baseline};
    case ReportColumn::Candidate:
    case ReportColumn::Value: return {line.candidate};
    case ReportColumn::Arrow: return {line.arrow};
    case ReportColumn::Delta: return {line.delta, line.tint};
    case ReportColumn::Percent: return {line.pct, line.tint};
    case ReportColumn::Shift: return {line.shift, line.tint};
    case ReportColumn::P: return {line.p, line.tint};
    case ReportColumn::Rate: return {line.rate, line.tint};
    case ReportColumn::ChangeOrigin: return {line.change_origin};
    case ReportColumn::PerLife: return {line.per_life};
    case ReportColumn::Runs: return {line.runs};
    case ReportColumn::Uptime: return {line.format_uptime};
    case ReportColumn::Readings: return {line.readings};
    case ReportColumn::SortedBy: return line.sorted_by;
  }
  return {};
}

TableLine ReportLines::make_line(const MetricRow& row) const {
  TableLine line;
  line.group = format_group(report_->grouping(), row.group);
  line.metric = make_printable_short(row.metric->name);
  std::vector<std::string> threads;
  for (const SideFigure& figure : row.sides)
    threads.push_back(format_decimal_count(figure.threads));
  const bool is_of_host = row.metric->entity == Entity::Host;
  if (!is_of_host) line.threads = join_with_arrow(threads);
  line.tags = format_tags(row.metric->tags);
  line.readings = format_coverages(row);
  line.runs = format_run_counts(row);
  line.per_life = format_per_life(row);
  if (!uptimes_.empty()) line.format_uptime = is_of_host ? "-" : format_uptime(row.at.group);
  if (sort_metric_) line.sorted_by = make_sort_cell(row);
  return line;
}

std::string ReportLines::format_uptime(std::uint32_t group) const {
  const double share = uptimes_[group];
  return std::isnan(share) ? "-" : std::to_string(std::lround(share * 100)) + "%";
}

// Returns the group's values of the metric that sorts the rows.
TextCell ReportLines::make_sort_cell(const MetricRow& row) const {
  const auto& metrics = report_->metrics();
  const auto sort_metric =
      std::find_if(metrics.begin(), metrics.end(),
                   [&](const PlannedMetric& m) { return m.name == *sort_metric_; });
  if (sort_metric->entity == Entity::Host || row.metric->entity == Entity::Host) return {"-"};
  const auto metric = static_cast<std::size_t>(sort_metric - metrics.begin());
  std::vector<std::string> values;
  for (std::size_t side = 0; side < row.sides.size(); ++side)
    values.push_back(format_value({side, row.at.group, metric}));
  const Change change = report_->changes().change(row.at.group, metric, 1);
  const std::string share = std::isnan(change.pct) ? "" : " (" + format_percent(change.pct) + ")";
  return {join_with_arrow(values) + share, choose_tint(change.difference, 0)};
}

std::string ReportLines::format_value(CellPosition at) const {
  return make_printable_short(report_->rollup().text(at), kMaxValueBytes);
}

TableLine ReportLines::make_value_line(const MetricRow& row) const {
  TableLine line = make_line(row);
  line.candidate = format_value(row.sides.front().at);
  if (report_->sides().front().window)
    line.candidate += format_change_in_window(row.sides.front(), *row.metric);
  return line;
}

TableLine ReportLines::make_change_line(const MetricRow& row) const {
  TableLine line = make_line(row);
  line.baseline = format_value(row.sides.front().at);
  for (std::size_t side = 1; side < row.sides.size(); ++side)
    line.candidate += (side > 1 ? " → " : "") + format_value(row.sides[side].at);
  for (const SideChange& change : row.changes) add_change(line, row, change);
  line.tint = choose_tint(row.changes.front().change.difference, row.changes.front().change.pct);
  if (has_tests() && is_not_significant(row)) line.tint = Tint::Faint;
  return line;
}

// Returns whether changes are tested for significance: between sides with several runs.
bool ReportLines::has_tests() const {
  return report_->families().can_test() && report_->spec().tests_rows;
}

void ReportLines::add_change(TableLine& line, const MetricRow& row,
                             const SideChange& side_change) const {
  const Change& change = side_change.change;
  const bool uses_word = !change.difference.is_known() ||
                         (change.difference.is_zero() && change.state == ChangeState::Changed);
  append_candidate_text(
      line.delta, uses_word && !change.rule_text.empty()
                      ? make_printable_short(change.rule_text)
                      : format_number(change.difference, row.metric->unit, row.is_per_second));
  append_candidate_text(line.pct, uses_word ? "-" : format_percent(change.pct));
  const auto side = static_cast<std::size_t>(&side_change - row.changes.data()) + 1;
  const bool is_untested =
      has_tests() && report_->families().design(side) && !side_change.test_result;
  append_candidate_text(line.shift, side_change.test_result
                                        ? format_marked_shift(*side_change.test_result)
                                    : is_untested ? std::string(kNotSignificant)
                                                  : "");
  append_candidate_text(line.p,
                        side_change.test_result ? format_p(side_change.test_result->p) : "");
  append_candidate_text(line.rate, format_rate(row.metric->unit, side_change.rate));
  append_candidate_text(line.change_origin,
                        format_origin(side_change.difference_origin, row.metric->unit));
}

std::string ReportLines::format_rate(std::string_view unit, double per_second) const {
  if (!report_->spec().rate) return "";
  const std::string text = format_scaled(as_difference(make_number(per_second)), unit);
  return text == "-" ? "" : text + "/s";
}

// Adds a line for each key; under compare, keys with the largest change come first.
void ReportLines::add_keys(const MetricRow& row) {
  std::vector<std::size_t> order(row.key_count());
  std::iota(order.begin(), order.end(), 0);
  if (report_->is_comparison())
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return largest_difference(row.key(a)) > largest_difference(row.key(b));
    });
  for (const std::size_t at : order) lines_.push_back(make_key_line(row, row.key(at)));
}

TableLine ReportLines::make_key_line(const MetricRow& row, std::span<const KeyFigure> key) const {
  TableLine line = make_line(row);
  const std::string_view unit = key.front().unit;
  const bool per_second = key.front().is_per_second;
  line.metric = format_map_key(row, key.front().key);
  if (!report_->is_comparison()) {
    line.candidate =
        format_number(key.front().number, unit, per_second) +
        format_change_in_window(row.sides.front().opening_state, key.front().change, unit);
    return line;
  }
  line.baseline = format_number(key.front().number, unit, per_second);
  for (const KeyFigure& figure : key.subspan(1)) {
    line.candidate +=
        (line.candidate.empty() ? "" : " → ") + format_number(figure.number, unit, per_second);
    append_candidate_text(line.delta, format_number(figure.difference, unit, per_second));
    append_candidate_text(line.pct, format_percent(figure.pct));
    append_candidate_text(line.rate, format_rate(unit, figure.rate));
  }
  line.tint = choose_tint(key[1].difference, key[1].pct);
  return line;
}

void ReportLines::align_arrows() {
  std::size_t widest = 0;
  for (const TableLine& line : lines_)
    if (const std::size_t width = get_display_width(line.baseline); width <= kMaxPaddedWidth)
      widest = std::max(widest, width);
  for (TableLine& line : lines_) {
    const std::size_t width = get_display_width(line.baseline);
    line.arrow = std::string(width < widest ? widest - width : 0, ' ') + line.baseline + " → " +
                 line.candidate;
  }
}

}  // namespace ctprof
