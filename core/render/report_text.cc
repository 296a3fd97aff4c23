#include "core/render/report_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/ladder.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/uptime.hpp"
#include "core/render/heading.hpp"
#include "core/render/leftovers.hpp"
#include "core/render/printable.hpp"
#include "core/render/renames_text.hpp"
#include "core/render/report_json.hpp"

namespace ctprof {
namespace {

// Beyond this, a change stands out.
constexpr double kMuch = 0.5;
// Baselines are padded up to this, so that arrows stand below each other; longer texts go their own
// way.
constexpr std::size_t kMostPadding = 10;

Tint tint_of(const Difference& difference, double pct) {
  if (!difference.known() || difference.zero()) return Tint::Plain;
  const bool much = std::fabs(pct) > kMuch;
  if (difference.negative) return much ? Tint::MuchLess : Tint::Less;
  return much ? Tint::MuchMore : Tint::More;
}

std::string ratio_of(Coverage coverage) {
  return std::to_string(coverage.values) + "/" + std::to_string(coverage.rows);
}

std::string arrow(const std::string& a, const std::string& b) { return a == b ? a : a + "→" + b; }

// A group as people read it; under `all` "cgroup > process > thread", the cgroup with both its
// names where it was renamed.
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

// One line of a table before it is laid out.
struct Line {
  std::string group, threads, metric, tags, baseline, value, delta, pct, rate, turned, uptime,
      readings;
  Tint tint = Tint::Plain;
  TextCell sorted_by;
};

// What a line takes, in memory and on paper: its texts, which are there twice, and the rest.
std::size_t size_of(const Line& line) {
  constexpr std::size_t kRest = 512;
  return kRest + 2 * (line.group.size() + line.metric.size() + line.tags.size() +
                      line.baseline.size() + line.value.size());
}

// Each in its brackets, as metric-list has them.
std::string bracketed(const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += "[" + told_name(tag) + "]";
  return text;
}

class Lines {
 public:
  Lines(const Report& report, const ColumnChoice& choice)
      : report_(&report), choice_(choice), compares_(report.sides().size() == 2) {
    if (choice_.has(ReportColumn::Uptime)) uptimes_ = uptimes(report.sides(), report.grouping());
    if (!compares_ || report.spec().sort.empty() ||
        report.spec().sort.front().by != SortKey::By::Metric)
      return;
    sort_metric_ = &report.spec().sort.front().metric;
  }

  void add(RowAt row) {
    if (report_->rollup().has_parts(row.metric))
      compares_ ? add_part_changes(row) : add_parts(row);
    else
      lines_.push_back(compares_ ? change_line(row) : value_line(row));
  }

  // Whether there is room for one more row, of lines as they are kept: the files' allowance pays
  // for them.
  bool has_room(Allowance& allowance) {
    std::size_t size = 0;
    for (; paid_ < lines_.size(); ++paid_) size += size_of(lines_[paid_]);
    allowance.spend(size);
    return !allowance.is_spent();
  }

  void append_to(std::string& out, const TextLayout& layout) {
    if (choice_.has(ReportColumn::Arrow)) align_arrows();
    if (!choice_.exact) add_where_told();
    if (sort_metric_) choice_.columns.push_back(ReportColumn::SortedBy);
    std::vector<TextColumn> columns;
    for (const ReportColumn column : choice_.columns) columns.push_back(text_column_here(column));
    TextTable table(std::move(columns));
    for (const Line& line : lines_) table.add(cells(line));
    table.append_to(out, layout);
  }

 private:
  // Columns that are there only where some line has something to say in them.
  void add_where_told() {
    const auto add = [&](ReportColumn column, std::string Line::*text) {
      const bool told = std::any_of(lines_.begin(), lines_.end(),
                                    [&](const Line& line) { return !(line.*text).empty(); });
      if (told) choice_.columns.push_back(column);
    };
    add(ReportColumn::Rate, &Line::rate);
    add(ReportColumn::OfWhich, &Line::turned);
    add(ReportColumn::Readings, &Line::readings);
  }

  TextColumn text_column_here(ReportColumn column) const {
    TextColumn found = text_column(column);
    if (column == ReportColumn::SortedBy) found.header = told_name(*sort_metric_);
    // What was asked for stays; so does a difference that nothing else tells.
    const bool tells_sides =
        choice_.has(ReportColumn::Arrow) || choice_.has(ReportColumn::Baseline);
    if (choice_.exact || (column == ReportColumn::Delta && !tells_sides)) found.may_go = false;
    return found;
  }

  std::vector<TextCell> cells(const Line& line) const {
    std::vector<TextCell> row;
    for (const ReportColumn column : choice_.columns) row.push_back(cell(line, column));
    return row;
  }

  static TextCell cell(const Line& line, ReportColumn column) {
    switch (column) {
      case ReportColumn::Group: return {line.group};
      case ReportColumn::Threads: return {line.threads};
      case ReportColumn::Metric: return {line.metric};
      case ReportColumn::Tags: return {line.tags};
      case ReportColumn::Baseline: return {line.baseline};
      case ReportColumn::Candidate:
      case ReportColumn::Value: return {line.value};
      case ReportColumn::Arrow: return {line.baseline + " → " + line.value};
      case ReportColumn::Delta: return {line.delta, line.tint};
      case ReportColumn::Percent: return {line.pct, line.tint};
      case ReportColumn::Rate: return {line.rate, line.tint};
      case ReportColumn::OfWhich: return {line.turned};
      case ReportColumn::Uptime: return {line.uptime};
      case ReportColumn::Readings: return {line.readings};
      case ReportColumn::SortedBy: return line.sorted_by;
    }
    return {};
  }

  Line started(RowAt row) const {
    const PlannedMetric& metric = report_->metrics()[row.metric];
    Line line;
    line.group =
        group_text(report_->grouping(), report_->grouping().name(metric.entity, row.group));
    line.metric = told_name(metric.name);
    const auto threads = [&](std::size_t side) {
      return std::to_string(report_->grouping().sides[side].threads(row.group));
    };
    if (metric.entity != Entity::Host)
      line.threads = compares_ ? arrow(threads(0), threads(1)) : threads(0);
    line.tags = bracketed(metric.tags);
    line.readings = readings(row);
    if (!uptimes_.empty()) line.uptime = metric.entity == Entity::Host ? "-" : uptime(row.group);
    if (sort_metric_) line.sorted_by = sorted_by(row);
    return line;
  }

  std::string uptime(std::uint32_t group) const {
    const double share = uptimes_[group];
    return std::isnan(share) ? "-" : std::to_string(std::lround(share * 100)) + "%";
  }

  // What the group's other metric did, by which the rows stand in this order.
  TextCell sorted_by(RowAt row) const {
    const auto& metrics = report_->metrics();
    const auto by = std::find_if(metrics.begin(), metrics.end(),
                                 [&](const PlannedMetric& m) { return m.name == *sort_metric_; });
    if (by->entity == Entity::Host || metrics[row.metric].entity == Entity::Host) return {"-"};
    const RowAt at{row.group, static_cast<std::uint32_t>(by - metrics.begin())};
    const Change change = report_->changes().of(at.group, at.metric);
    const std::string share = std::isnan(change.pct) ? "" : " (" + percent(change.pct) + ")";
    return {arrow(text(0, at), text(1, at)) + share, tint_of(change.difference, 0)};
  }

  // Said only where a value does not stand on the whole group.
  std::string readings(RowAt row) const {
    const auto coverage = [&](std::size_t side) {
      return report_->rollup().read({side, row.group, row.metric}).coverage;
    };
    if (!compares_) return coverage(0).full() ? "" : ratio_of(coverage(0));
    return coverage(0).full() && coverage(1).full()
               ? ""
               : arrow(ratio_of(coverage(0)), ratio_of(coverage(1)));
  }

  std::string text(std::size_t side, RowAt row) const {
    return told_name(report_->rollup().text({side, row.group, row.metric}), kMostValue);
  }

  Line value_line(RowAt row) const {
    Line line = started(row);
    line.value = text(0, row);
    return line;
  }

  Line change_line(RowAt row) const {
    Line line = started(row);
    const Change change = report_->changes().of(row.group, row.metric);
    const bool in_words =
        !change.difference.known() || (change.difference.zero() && change.moved == Moved::Yes);
    line.baseline = text(0, row);
    line.value = text(1, row);
    line.delta = in_words && !change.word.empty()
                     ? told_name(change.word)
                     : scaled(change.difference, report_->metrics()[row.metric].unit);
    line.pct = in_words ? "-" : percent(change.pct);
    line.tint = tint_of(change.difference, change.pct);
    line.rate = rate(row, change.difference);
    line.turned = turned(row);
    return line;
  }

  std::string rate(RowAt row, const Difference& difference) const {
    if (!report_->spec().rate) return "";
    const ctprof_number per_second =
        number_of(report_->rates().of(row.group, row.metric, difference));
    const std::string text = scaled(as_difference(per_second), report_->metrics()[row.metric].unit);
    return text == "-" ? "" : text + "/s";
  }

  // Said only where threads that one side alone has made a part of the difference.
  std::string turned(RowAt row) const {
    const auto origin = report_->origins().of(row.group, row.metric);
    if (!origin) return "";
    const std::string_view unit = report_->metrics()[row.metric].unit;
    std::string text;
    if (!origin->fresh.zero()) text += scaled(origin->fresh, unit) + " new";
    if (!origin->gone.zero())
      text += (text.empty() ? "" : ", ") + scaled(origin->gone, unit) + " gone";
    return text;
  }

  std::string part_name(RowAt row, std::string_view key) const {
    return told_name(report_->metrics()[row.metric].name) + "[" + told_name(key) + "]";
  }
  std::string_view unit_of(RowAt row, std::string_view of_part) const {
    return of_part.empty() ? std::string_view(report_->metrics()[row.metric].unit) : of_part;
  }

  void add_parts(RowAt row) {
    report_->rollup().parts({0, row.group, row.metric}, [&](const Part& part) {
      if (report_->spec().moved_only && as_double(part.number) == 0) return;
      Line line = started(row);
      line.metric = part_name(row, part.key);
      line.value = scaled(part.number, unit_of(row, part.unit));
      lines_.push_back(std::move(line));
    });
  }

  // Keys that moved, those that moved furthest first.
  void add_part_changes(RowAt row) {
    auto parts = report_->changes().parts(row.group, row.metric);
    if (report_->spec().moved_only)
      std::erase_if(parts, [](const PartChange& part) {
        return part.difference.known() && part.difference.zero();
      });
    std::stable_sort(parts.begin(), parts.end(), [](const PartChange& a, const PartChange& b) {
      return std::fabs(a.difference.real) > std::fabs(b.difference.real);
    });
    for (const PartChange& part : parts) {
      const auto unit = unit_of(row, part.unit);
      Line line = started(row);
      line.metric = part_name(row, part.key);
      line.baseline = scaled(part.baseline, unit);
      line.value = scaled(part.candidate, unit);
      line.delta = scaled(part.difference, unit);
      line.pct = percent(part.pct);
      line.tint = tint_of(part.difference, part.pct);
      lines_.push_back(std::move(line));
    }
  }

  void align_arrows() {
    std::size_t widest = 0;
    for (const Line& line : lines_)
      if (const std::size_t width = display_width(line.baseline); width <= kMostPadding)
        widest = std::max(widest, width);
    for (Line& line : lines_)
      if (const std::size_t width = display_width(line.baseline); width < widest)
        line.baseline.insert(0, widest - width, ' ');
  }

  const Report* report_;
  ColumnChoice choice_;
  bool compares_;
  const std::string* sort_metric_ =
      nullptr;                   // the one that rows are sorted by first, if it is a metric
  std::vector<double> uptimes_;  // by group; empty: not asked for
  std::vector<Line> lines_;
  std::size_t paid_ = 0;  // lines that are paid for
};

// Adds rows as far as there is room; returns how many there was none for.
std::size_t add_rows(Lines& lines, std::span<const RowAt> rows, Allowance& allowance) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!lines.has_room(allowance)) return rows.size() - i;
    lines.add(rows[i]);
  }
  lines.has_room(allowance);
  return 0;
}

std::string said_left_out(std::size_t rows) {
  return rows == 0 ? "" : left_out_in_words(rows) + "\n";
}

// "12 rows cut by --limit 20; 340 did not change"
std::string closing(const Report& report, const Section& section) {
  const bool compares = report.sides().size() == 2;
  std::vector<std::string> said;
  if (section.cut)
    said.push_back(counted(section.cut, "more row") + " beyond --limit " +
                   std::to_string(report.spec().limit) + " (--limit 0 shows all)");
  const char* still = compares ? " did not change" : section.still == 1 ? " is zero" : " are zero";
  if (section.still) said.push_back(std::to_string(section.still) + still);
  if (section.missing) said.push_back(std::to_string(section.missing) + " without a value");
  std::string line;
  for (const std::string& part : said) line += (line.empty() ? "" : "; ") + part;
  return line.empty() ? "" : line + "\n";
}

void append_section(std::string& out, const Report& report, const Section& section,
                    const ColumnChoice& columns, const TextLayout& layout, Allowance& allowance) {
  if (section.rows.empty() && section.still == 0 && section.missing == 0) return;
  out += "\n" + tinted("## " + told_name(section.name), Tint::Heading, layout.color) + "\n";
  Lines lines(report, columns);
  const std::size_t left_out = add_rows(lines, section.rows, allowance), size = out.size();
  if (!section.rows.empty()) lines.append_to(out, layout);
  allowance.spend(out.size() - size);  // one long name makes every line of its table long
  out += said_left_out(left_out) + closing(report, section);
}

// What --fail-on picked out, last, for whoever reads why the exit status is 1.
void append_failed(std::string& out, const Report& report, const ColumnChoice& columns,
                   const TextLayout& layout, Allowance& allowance) {
  const Section& failed = report.failed();
  if (failed.rows.empty()) return;
  const std::string title =
      "## failed: " + counted(failed.rows.size() + failed.cut, "row") + " that --fail-on names";
  out += "\n" + tinted(title, Tint::Heading, layout.color) + "\n";
  Lines lines(report, columns);
  const std::size_t left_out = add_rows(lines, failed.rows, allowance), size = out.size();
  lines.append_to(out, layout);
  allowance.spend(out.size() - size);
  out += said_left_out(left_out) + closing(report, failed);
}

bool is_told(const Report& report, CellAt at, bool adds_up) {
  const ctprof_number number = report.rollup().read(at).number;
  return report.metrics()[at.metric].adds_up == adds_up && has_value(number) &&
         as_double(number) != 0;
}

// What a group on one side has, by the metrics in which it weighs most; of others where nothing
// adds up.
std::string weights(const Report& report, std::size_t side, std::uint32_t group) {
  constexpr std::size_t kMost = 4;
  std::string text;
  std::size_t said = 0;
  const auto metrics = report.weightiest(side, group);
  for (const bool adds_up : {true, false}) {
    if (said > 0) break;
    for (const std::uint32_t metric : metrics) {
      const CellAt at{side, group, metric};
      if (said == kMost || !is_told(report, at, adds_up)) continue;
      text += (said++ ? ", " : "") + told_name(report.metrics()[metric].name) + " " +
              told_name(report.rollup().text(at), kMostValue);
    }
  }
  return text;
}

void append_one_sided(std::string& out, const Report& report, std::size_t side,
                      const TextLayout& layout, Allowance& allowance) {
  const OneSided& only = report.only(side);
  if (only.groups.empty()) return;
  const std::string title = "## only in the " +
                            std::string(side == 0 ? "baseline: " : "candidate: ") +
                            counted(only.groups.size() + only.cut, "group");
  out += "\n" + tinted(title, Tint::Heading, layout.color) + "\n";
  TextTable table({{"group", Align::Left, 12, false},
                   {"threads", Align::Right, 0, false},
                   {"where it weighs most", Align::Left, 20, false}});
  std::size_t left_out = 0;
  for (const std::uint32_t group : only.groups) {
    if (allowance.is_spent() && ++left_out) continue;
    Line line;
    line.group = group_text(report.grouping(), report.grouping().names[group]);
    line.value = weights(report, side, group);
    allowance.spend(size_of(line));
    table.add({{line.group},
               {std::to_string(report.grouping().sides[side].threads(group))},
               {line.value}});
  }
  table.append_to(out, layout);
  out += said_left_out(left_out);
  if (only.cut)
    out += counted(only.cut, "more group") + " beyond --limit " +
           std::to_string(report.spec().limit) + "\n";
}

bool has_long_names(const Report& report) {
  const auto is_long = [](std::string_view name) { return name.size() > kMostName; };
  const auto& names = report.grouping().names;
  const auto& metrics = report.metrics();
  return std::any_of(names.begin(), names.end(), is_long) ||
         std::any_of(metrics.begin(), metrics.end(),
                     [&](const PlannedMetric& metric) { return is_long(metric.name); });
}
constexpr const char* kLongNames =
    "names of more than 1024 bytes lack their middle; --format json has them whole\n";

}  // namespace

std::string report_text(const Report& report, std::span<const std::string> files,
                        const ColumnChoice& columns, const TextLayout& layout) {
  std::string out = heading(report, files, layout);
  Allowance allowance(report.sides());
  for (const Section& section : report.sections())
    append_section(out, report, section, columns, layout, allowance);
  if (report.sides().size() == 2)
    for (std::size_t side = 0; side < 2; ++side)
      append_one_sided(out, report, side, layout, allowance);
  out += renames_text(report, layout);
  const std::string left = leftovers(report, layout.width);
  if (!left.empty()) out += "\n" + left;
  append_failed(out, report, columns, layout, allowance);
  if (has_long_names(report)) out += kLongNames;
  return out;
}

}  // namespace ctprof
