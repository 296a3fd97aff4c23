#include "core/render/report_lines.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/number.hpp"
#include "core/compare/figures/change.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

// Changes beyond this fraction are highlighted.
constexpr double kMuchPercent = 0.5;
// Baselines are padded to at most this width to align the arrows; longer texts are not padded.
constexpr std::size_t kMostPadding = 10;

Tint tint_of(const Difference& difference, double pct) {
  if (!difference.known() || difference.zero()) return Tint::Plain;
  const bool much = std::fabs(pct) > kMuchPercent;
  if (difference.negative) return much ? Tint::MuchLess : Tint::Less;
  return much ? Tint::MuchMore : Tint::More;
}

std::string ratio_of(Coverage coverage) {
  return std::to_string(coverage.values) + "/" + std::to_string(coverage.rows);
}

// Joins the texts of all sides, or returns only one if all are equal.
std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string text = texts.front();
  const bool alike = std::all_of(texts.begin(), texts.end(),
                                 [&](const std::string& other) { return other == text; });
  for (std::size_t i = 1; !alike && i < texts.size(); ++i) text += std::string(between) + texts[i];
  return text;
}

std::string arrow(const std::vector<std::string>& texts) { return joined(texts, "→"); }

// Appends the text of another candidate.
void add_said(std::string& said, const std::string& more) {
  if (!more.empty()) said += (said.empty() ? "" : " | ") + more;
}

// Puts each tag in brackets, as in metric-list.
std::string bracketed(const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += "[" + told_name(tag) + "]";
  return text;
}

// Returns the parts of a difference from started and exited threads; empty if there are none.
std::string turned(const std::optional<Origin>& origin, std::string_view unit) {
  if (!origin) return "";
  std::string text;
  if (!origin->fresh.zero()) text += scaled(origin->fresh, unit) + " new";
  if (!origin->gone.zero())
    text += (text.empty() ? "" : ", ") + scaled(origin->gone, unit) + " gone";
  return text;
}

// Returns for example "1 of 8 parts".
std::string parts_of(const MadeOf& made_of) {
  return std::to_string(made_of.present()) + " of " + std::to_string(made_of.possible()) + " parts";
}

// Returns whether a part is missing, or the sides have different parts.
bool tells_parts(const ReportRow& row) {
  return std::any_of(row.sides.begin(), row.sides.end(), [&](const SideFigure& figure) {
    return !figure.made_of.whole() || !same_parts(row.sides.front().made_of, figure.made_of);
  });
}

// Returns the change of a value that is not a difference: " (+4.000KiB)" for a gauge, " (new)" if
// it did not exist at the opening. A peak does not belong to the window alone.
std::string since(Beginning beginning, const Difference& change, std::string_view unit) {
  if (!change.known()) return "";
  if (beginning == Beginning::Born) return " (new)";
  return change.zero() ? "" : " (" + scaled(change, unit) + ")";
}

std::string since(const SideFigure& figure, const PlannedMetric& metric) {
  if (metric.family == "peak") return metric.of_window ? "" : " (ever)";
  return since(figure.beginning, figure.change, metric.unit);
}

// Returns the coverage; empty if the values cover the whole group.
std::string readings(const ReportRow& row) {
  std::vector<std::string> texts;
  const bool with_parts = tells_parts(row);
  bool full = !with_parts;
  for (const SideFigure& figure : row.sides) {
    full = full && figure.coverage.full();
    texts.push_back(ratio_of(figure.coverage));
    if (with_parts && figure.made_of.has_parts()) texts.back() += ", " + parts_of(figure.made_of);
  }
  return full ? "" : arrow(texts);
}

// Returns how many runs have a value.
std::string runs(const ReportRow& row) {
  std::vector<std::string> counts;
  for (const SideFigure& figure : row.sides) counts.push_back(std::to_string(figure.runs));
  return arrow(counts);
}

// Formats a number or a difference, which may be per second.
template <class Number>
std::string told_number(const Number& number, std::string_view unit, bool per_second) {
  const std::string text = scaled(number, unit);
  return per_second && text != "-" ? text + "/s" : text;
}

// Returns the total per second of lifetime; empty if no side has such a value.
std::string life(const ReportRow& row) {
  std::vector<std::string> rates;
  bool any = false;
  for (const SideFigure& figure : row.sides) {
    const ctprof_number rate =
        std::isnan(figure.per_life) ? no_number() : number_of(figure.per_life);
    rates.push_back(told_number(rate, row.metric->unit, true));
    any = any || has_value(rate);
  }
  return any ? arrow(rates) : "";
}

// Returns "~ +3% (-2 to +9)" for a change that is not significant.
std::string shift_in_doubt(const Proof& proof) {
  return (proof.proven ? "" : std::string(kNotProven) + " ") + shift_text(without_floor(proof));
}

// Returns whether no change of the row is significant, or none was tested.
bool is_doubtful(const ReportRow& row) {
  return std::ranges::none_of(
      row.changes, [](const SideChange& told) { return told.proof && told.proof->proven; });
}

std::string told_key(const ReportRow& row, std::string_view key) {
  return told_name(row.metric->name) + "[" + told_name(key) + "]";
}

}  // namespace

std::size_t size_of(const ReportLine& line) {
  constexpr std::size_t kRest = 512;
  return kRest + 2 * (line.group.size() + line.metric.size() + line.tags.size() +
                      line.baseline.size() + line.candidate.size());
}

std::string group_text(const Grouping& grouping, std::string_view name) {
  std::string text;
  for (const std::string_view part : key_parts(name)) {
    const bool is_first = part.data() == name.data();
    if (!is_first) text += " > ";
    text += part.empty() ? "(no name)" : told_name(part);
    if (const auto after = is_first ? renamed_to(grouping, name) : std::string_view{};
        !after.empty())
      text += " → " + told_name(after);
  }
  return text;
}

ReportLines::ReportLines(const Report& report, const ColumnChoice& choice)
    : report_(&report), choice_(choice) {
  if (choice_.has(ReportColumn::Uptime)) uptimes_ = uptimes(report.rollup(), report.grouping());
  const auto& sort = report.spec().sort;
  if (report.compares() && !sort.empty() && sort.front().by == SortKey::By::Metric)
    sort_metric_ = &sort.front().metric;
}

void ReportLines::add(const ReportRow& row) {
  if (row.metric->is_map())
    add_keys(row);
  else
    lines_.push_back(report_->compares() ? change_line(row) : value_line(row));
}

bool ReportLines::has_room(Allowance& allowance) {
  std::size_t size = 0;
  for (; paid_ < lines_.size(); ++paid_) size += size_of(lines_[paid_]);
  allowance.spend(size);
  return !allowance.is_spent();
}

void ReportLines::append_to(std::string& out, const TextLayout& layout) {
  if (choice_.has(ReportColumn::Arrow)) align_arrows();
  if (!choice_.exact) add_where_told();
  if (sort_metric_) choice_.columns.push_back(ReportColumn::SortedBy);
  std::vector<TextColumn> columns;
  for (const ReportColumn column : choice_.columns) columns.push_back(text_column_here(column));
  TextTable table(std::move(columns));
  for (const ReportLine& line : lines_) table.add(cells(line));
  table.append_to(out, layout);
}

// Adds the optional columns in which at least one line has a text.
void ReportLines::add_where_told() {
  const auto add = [&](ReportColumn column, std::string ReportLine::*text) {
    const bool told = std::any_of(lines_.begin(), lines_.end(),
                                  [&](const ReportLine& line) { return !(line.*text).empty(); });
    if (told) choice_.columns.push_back(column);
  };
  add(ReportColumn::Shift, &ReportLine::shift);
  add(ReportColumn::P, &ReportLine::p);
  add(ReportColumn::Rate, &ReportLine::rate);
  add(ReportColumn::OfWhich, &ReportLine::turned);
  add(ReportColumn::Life, &ReportLine::life);
  if (tells_several_runs(*report_)) add(ReportColumn::Runs, &ReportLine::runs);
  add(ReportColumn::Readings, &ReportLine::readings);
}

TextColumn ReportLines::text_column_here(ReportColumn column) const {
  TextColumn found = text_column(column);
  if (column == ReportColumn::SortedBy) found.header = told_name(*sort_metric_);
  // The user's columns are kept, and so is a difference that no other column shows.
  const bool tells_sides = choice_.has(ReportColumn::Arrow) || choice_.has(ReportColumn::Baseline);
  if (choice_.exact || (column == ReportColumn::Delta && !tells_sides)) found.may_go = false;
  return found;
}

std::vector<TextCell> ReportLines::cells(const ReportLine& line) const {
  std::vector<TextCell> row;
  for (const ReportColumn column : choice_.columns) row.push_back(cell(line, column));
  return row;
}

TextCell ReportLines::cell(const ReportLine& line, ReportColumn column) {
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
    case ReportColumn::OfWhich: return {line.turned};
    case ReportColumn::Life: return {line.life};
    case ReportColumn::Runs: return {line.runs};
    case ReportColumn::Uptime: return {line.uptime};
    case ReportColumn::Readings: return {line.readings};
    case ReportColumn::SortedBy: return line.sorted_by;
  }
  return {};
}

ReportLine ReportLines::started(const ReportRow& row) const {
  ReportLine line;
  line.group = group_text(report_->grouping(), row.group);
  line.metric = told_name(row.metric->name);
  std::vector<std::string> threads;
  for (const SideFigure& figure : row.sides) threads.push_back(count_text(figure.threads));
  const bool of_host = row.metric->entity == Entity::Host;
  if (!of_host) line.threads = arrow(threads);
  line.tags = bracketed(row.metric->tags);
  line.readings = readings(row);
  line.runs = runs(row);
  line.life = life(row);
  if (!uptimes_.empty()) line.uptime = of_host ? "-" : uptime(row.at.group);
  if (sort_metric_) line.sorted_by = sorted_by(row);
  return line;
}

std::string ReportLines::uptime(std::uint32_t group) const {
  const double share = uptimes_[group];
  return std::isnan(share) ? "-" : std::to_string(std::lround(share * 100)) + "%";
}

// Returns the group's values of the metric that sorts the rows.
TextCell ReportLines::sorted_by(const ReportRow& row) const {
  const auto& metrics = report_->metrics();
  const auto by = std::find_if(metrics.begin(), metrics.end(),
                               [&](const PlannedMetric& m) { return m.name == *sort_metric_; });
  if (by->entity == Entity::Host || row.metric->entity == Entity::Host) return {"-"};
  const auto metric = static_cast<std::size_t>(by - metrics.begin());
  std::vector<std::string> values;
  for (std::size_t side = 0; side < row.sides.size(); ++side)
    values.push_back(text({side, row.at.group, metric}));
  const Change change = report_->changes().of(row.at.group, metric, 1);
  const std::string share = std::isnan(change.pct) ? "" : " (" + percent(change.pct) + ")";
  return {arrow(values) + share, tint_of(change.difference, 0)};
}

std::string ReportLines::text(CellAt at) const {
  return told_name(report_->rollup().text(at), kMostValue);
}

ReportLine ReportLines::value_line(const ReportRow& row) const {
  ReportLine line = started(row);
  line.candidate = text(row.sides.front().at);
  if (report_->sides().front().window) line.candidate += since(row.sides.front(), *row.metric);
  return line;
}

ReportLine ReportLines::change_line(const ReportRow& row) const {
  ReportLine line = started(row);
  line.baseline = text(row.sides.front().at);
  for (std::size_t side = 1; side < row.sides.size(); ++side)
    line.candidate += (side > 1 ? " → " : "") + text(row.sides[side].at);
  for (const SideChange& told : row.changes) tell_change(line, row, told);
  line.tint = tint_of(row.changes.front().change.difference, row.changes.front().change.pct);
  if (judges() && is_doubtful(row)) line.tint = Tint::Faint;
  return line;
}

// Returns whether changes are tested for significance: between sides of several runs.
bool ReportLines::judges() const {
  return report_->families().judge() && report_->spec().judge_rows;
}

void ReportLines::tell_change(ReportLine& line, const ReportRow& row,
                              const SideChange& told) const {
  const Change& change = told.change;
  const bool in_words =
      !change.difference.known() || (change.difference.zero() && change.moved == Moved::Yes);
  add_said(line.delta, in_words && !change.word.empty()
                           ? told_name(change.word)
                           : told_number(change.difference, row.metric->unit, row.per_second));
  add_said(line.pct, in_words ? "-" : percent(change.pct));
  const auto side = static_cast<std::size_t>(&told - row.changes.data()) + 1;
  const bool is_untested = judges() && report_->families().design(side) && !told.proof;
  add_said(line.shift, told.proof    ? shift_in_doubt(*told.proof)
                       : is_untested ? std::string(kNotProven)
                                     : "");
  add_said(line.p, told.proof ? p_text(told.proof->p) : "");
  add_said(line.rate, rate(row.metric->unit, told.rate));
  add_said(line.turned, turned(told.origin, row.metric->unit));
}

std::string ReportLines::rate(std::string_view unit, double per_second) const {
  if (!report_->spec().rate) return "";
  const std::string text = scaled(as_difference(number_of(per_second)), unit);
  return text == "-" ? "" : text + "/s";
}

// Adds a line for each key; under compare, keys with the largest change come first.
void ReportLines::add_keys(const ReportRow& row) {
  std::vector<std::size_t> order(row.key_count());
  std::iota(order.begin(), order.end(), 0);
  if (report_->compares())
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return movement(row.key(a)) > movement(row.key(b));
    });
  for (const std::size_t at : order) lines_.push_back(key_line(row, row.key(at)));
}

ReportLine ReportLines::key_line(const ReportRow& row, std::span<const KeyFigure> key) const {
  ReportLine line = started(row);
  const std::string_view unit = key.front().unit;
  const bool per_second = key.front().per_second;
  line.metric = told_key(row, key.front().key);
  if (!report_->compares()) {
    line.candidate = told_number(key.front().number, unit, per_second) +
                     since(row.sides.front().beginning, key.front().change, unit);
    return line;
  }
  line.baseline = told_number(key.front().number, unit, per_second);
  for (const KeyFigure& figure : key.subspan(1)) {
    line.candidate +=
        (line.candidate.empty() ? "" : " → ") + told_number(figure.number, unit, per_second);
    add_said(line.delta, told_number(figure.difference, unit, per_second));
    add_said(line.pct, percent(figure.pct));
    add_said(line.rate, rate(unit, figure.rate));
  }
  line.tint = tint_of(key[1].difference, key[1].pct);
  return line;
}

void ReportLines::align_arrows() {
  std::size_t widest = 0;
  for (const ReportLine& line : lines_)
    if (const std::size_t width = display_width(line.baseline); width <= kMostPadding)
      widest = std::max(widest, width);
  for (ReportLine& line : lines_) {
    const std::size_t width = display_width(line.baseline);
    line.arrow = std::string(width < widest ? widest - width : 0, ' ') + line.baseline + " → " +
                 line.candidate;
  }
}

}  // namespace ctprof
