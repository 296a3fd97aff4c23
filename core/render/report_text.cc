#include "core/render/report_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/ladder.hpp"
#include "core/render/heading.hpp"
#include "core/render/leftovers.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
namespace {

// Beyond this, a change stands out.
constexpr double kMuch = 0.5;
// Baselines are padded up to this, so that arrows stand below each other; longer texts go their own way.
constexpr std::size_t kMostPadding = 10;
// What an arrow column needs so that no number in it is cut.
constexpr std::size_t kLeastValue = 24;

Tint tint_of(const Difference& difference, double pct) {
  if (!difference.known() || difference.zero()) return Tint::Plain;
  const bool much = std::fabs(pct) > kMuch;
  if (difference.negative) return much ? Tint::MuchLess : Tint::Less;
  return much ? Tint::MuchMore : Tint::More;
}

std::string ratio_of(Coverage coverage) { return std::to_string(coverage.values) + "/" + std::to_string(coverage.rows); }

std::string arrow(const std::string& a, const std::string& b) { return a == b ? a : a + "→" + b; }

// A group as people read it; under `all` "cgroup > process > thread".
std::string group_text(std::string_view name) {
  std::string text;
  for (const std::string_view part : key_parts(name)) {
    if (part.data() != name.data()) text += " > ";
    text += part.empty() ? "(no name)" : printable(part);
  }
  return text;
}

// One line of a table before it is laid out.
struct Line {
  std::string group, threads, metric, baseline, value, delta, pct, rate, turned, readings;
  Tint tint = Tint::Plain;
};

class Lines {
 public:
  explicit Lines(const Report& report) : report_(&report), compares_(report.sides().size() == 2) {}

  void add(RowAt row) {
    if (report_->rollup().has_parts(row.metric))
      compares_ ? add_part_changes(row) : add_parts(row);
    else
      lines_.push_back(compares_ ? change_line(row) : value_line(row));
  }

  void append_to(std::string& out, const TextLayout& layout) {
    const Shown shown{has(&Line::rate), has(&Line::turned), has(&Line::readings)};
    std::vector<TextColumn> columns{
        {"group", Align::Left, 12, false}, {"threads", Align::Right, 0, true}, {"metric", Align::Left, 22, false}};
    if (compares_) {
      align_arrows();
      columns.push_back({"value", Align::Left, kLeastValue, false});
      columns.push_back({"delta", Align::Right, 0, true});
      columns.push_back({"%", Align::Right, 0, false});
      if (shown.rate) columns.push_back({"rate", Align::Right, 0, true});
      if (shown.turned) columns.push_back({"of which", Align::Left, 0, true});
    } else {
      columns.push_back({"value", Align::Right, kLeastValue, false});
    }
    if (shown.readings) columns.push_back({"readings", Align::Right, 0, true});
    TextTable table(std::move(columns));
    for (const Line& line : lines_) table.add(cells(line, shown));
    table.append_to(out, layout);
  }

 private:
  // Columns that are there only where some line has something to say in them.
  struct Shown {
    bool rate, turned, readings;
  };
  bool has(std::string Line::*column) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) { return !(line.*column).empty(); });
  }

  std::vector<TextCell> cells(const Line& line, const Shown& shown) const {
    std::vector<TextCell> row{{line.group}, {line.threads}, {line.metric}};
    if (compares_) {
      row.push_back({line.baseline + " → " + line.value});
      row.push_back({line.delta, line.tint});
      row.push_back({line.pct, line.tint});
      if (shown.rate) row.push_back({line.rate, line.tint});
      if (shown.turned) row.push_back({line.turned});
    } else {
      row.push_back({line.value});
    }
    if (shown.readings) row.push_back({line.readings});
    return row;
  }

  Line started(RowAt row) const {
    const PlannedMetric& metric = report_->metrics()[row.metric];
    Line line;
    line.group = group_text(report_->grouping().name(metric.entity, row.group));
    line.metric = printable(metric.name);
    const auto threads = [&](std::size_t side) { return std::to_string(report_->grouping().sides[side].threads(row.group)); };
    if (metric.entity != Entity::Host) line.threads = compares_ ? arrow(threads(0), threads(1)) : threads(0);
    line.readings = readings(row);
    return line;
  }

  // Said only where a value does not stand on the whole group.
  std::string readings(RowAt row) const {
    const auto coverage = [&](std::size_t side) { return report_->rollup().read({side, row.group, row.metric}).coverage; };
    if (!compares_) return coverage(0).full() ? "" : ratio_of(coverage(0));
    return coverage(0).full() && coverage(1).full() ? "" : arrow(ratio_of(coverage(0)), ratio_of(coverage(1)));
  }

  std::string text(std::size_t side, RowAt row) const { return printable(report_->rollup().text({side, row.group, row.metric})); }

  Line value_line(RowAt row) const {
    Line line = started(row);
    line.value = text(0, row);
    return line;
  }

  Line change_line(RowAt row) const {
    Line line = started(row);
    const Change change = report_->changes().of(row.group, row.metric);
    const bool in_words = !change.difference.known() || (change.difference.zero() && change.moved == Moved::Yes);
    line.baseline = text(0, row);
    line.value = text(1, row);
    line.delta = in_words && !change.word.empty() ? printable(change.word)
                                                  : scaled(change.difference, report_->metrics()[row.metric].unit);
    line.pct = in_words ? "-" : percent(change.pct);
    line.tint = tint_of(change.difference, change.pct);
    line.rate = rate(row, change.difference);
    line.turned = turned(row);
    return line;
  }

  std::string rate(RowAt row, const Difference& difference) const {
    if (!report_->spec().rate) return "";
    const ctprof_number per_second = number_of(report_->rates().of(row.group, row.metric, difference));
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
    if (!origin->gone.zero()) text += (text.empty() ? "" : ", ") + scaled(origin->gone, unit) + " gone";
    return text;
  }

  std::string part_name(RowAt row, std::string_view key) const {
    return printable(report_->metrics()[row.metric].name) + "[" + printable(key) + "]";
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
      std::erase_if(parts, [](const PartChange& part) { return part.difference.known() && part.difference.zero(); });
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
      if (const std::size_t width = display_width(line.baseline); width <= kMostPadding) widest = std::max(widest, width);
    for (Line& line : lines_)
      if (const std::size_t width = display_width(line.baseline); width < widest) line.baseline.insert(0, widest - width, ' ');
  }

  const Report* report_;
  bool compares_;
  std::vector<Line> lines_;
};

// "12 rows cut by --limit 20; 340 did not change"
std::string closing(const Report& report, const Section& section) {
  const bool compares = report.sides().size() == 2;
  std::vector<std::string> said;
  if (section.cut)
    said.push_back(counted(section.cut, "more row") + " beyond --limit " + std::to_string(report.spec().limit) +
                   " (--limit 0 shows all)");
  if (section.still) said.push_back(std::to_string(section.still) + (compares ? " did not change" : " are zero"));
  if (section.missing) said.push_back(std::to_string(section.missing) + " without a value");
  std::string line;
  for (const std::string& part : said) line += (line.empty() ? "" : "; ") + part;
  return line.empty() ? "" : line + "\n";
}

void append_section(std::string& out, const Report& report, const Section& section, const TextLayout& layout) {
  if (section.rows.empty() && section.still == 0 && section.missing == 0) return;
  out += "\n" + tinted("## " + printable(section.name), Tint::Heading, layout.color) + "\n";
  Lines lines(report);
  for (const RowAt row : section.rows) lines.add(row);
  if (!section.rows.empty()) lines.append_to(out, layout);
  out += closing(report, section);
}

bool is_told(const Report& report, CellAt at, bool adds_up) {
  const ctprof_number number = report.rollup().read(at).number;
  return report.metrics()[at.metric].adds_up == adds_up && has_value(number) && as_double(number) != 0;
}

// What a group on one side has, by the metrics in which it weighs most; of others where nothing adds up.
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
      text += (said++ ? ", " : "") + printable(report.metrics()[metric].name) + " " + printable(report.rollup().text(at));
    }
  }
  return text;
}

void append_one_sided(std::string& out, const Report& report, std::size_t side, const TextLayout& layout) {
  const OneSided& only = report.only(side);
  if (only.groups.empty()) return;
  const std::string title =
      "## only in the " + std::string(side == 0 ? "baseline: " : "candidate: ") + counted(only.groups.size() + only.cut, "group");
  out += "\n" + tinted(title, Tint::Heading, layout.color) + "\n";
  TextTable table(
      {{"group", Align::Left, 12, false}, {"threads", Align::Right, 0, false}, {"where it weighs most", Align::Left, 20, false}});
  for (const std::uint32_t group : only.groups) {
    table.add({{group_text(report.grouping().names[group])},
               {std::to_string(report.grouping().sides[side].threads(group))},
               {weights(report, side, group)}});
  }
  table.append_to(out, layout);
  if (only.cut) out += counted(only.cut, "more group") + " beyond --limit " + std::to_string(report.spec().limit) + "\n";
}

}  // namespace

std::string report_text(const Report& report, std::span<const std::string> files, const TextLayout& layout) {
  std::string out = heading(report, files, layout);
  for (const Section& section : report.sections()) append_section(out, report, section, layout);
  if (report.sides().size() == 2)
    for (std::size_t side = 0; side < 2; ++side) append_one_sided(out, report, side, layout);
  const std::string left = leftovers(report, layout.width);
  return left.empty() ? out : out + "\n" + left;
}

}  // namespace ctprof
