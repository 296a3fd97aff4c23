#include "core/render/screen_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/report/screen.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

// A screen that is lower has so many rows all the same.
constexpr std::size_t kLeastRows = 5;
constexpr std::size_t kLeastGroup = 12;
constexpr std::size_t kBetween = 2;
constexpr std::string_view kMostMoved = "moved most";
constexpr std::size_t kAlwaysFirst = 2;  // columns that are the last to go
constexpr std::size_t kMostDepth = 8;    // to which rows of a tree are indented
constexpr std::size_t kMostSettings = 4;

// --- cells
// ----------------------------------------------------------------------------------------------

std::string header_of_groups(const Spec& spec) {
  if (spec.group_by == GroupBy::Pcomm) return "process";
  if (spec.group_by == GroupBy::All) return "cgroup > process > thread";
  return printable(axis_word(spec));
}

// Columns make room for so much of a name: a process's is no longer.
std::size_t readable_width(GroupBy by) {
  return by == GroupBy::All || by == GroupBy::Cgroup ? 32 : 16;
}

// "5 +1 -1": those that live, and those that were born and ended inside; of several windows
// "4→5 +1 -1", born and ended in the last.
std::string threads_text(std::span<const ScreenThreads> sides) {
  std::string text = std::to_string(sides.front().living);
  if (!std::ranges::all_of(
          sides, [&](const ScreenThreads& side) { return side.living == sides.front().living; }))
    for (const ScreenThreads& side : sides.subspan(1)) text += "→" + std::to_string(side.living);
  if (sides.back().born) text += " +" + std::to_string(sides.back().born);
  if (sides.back().ended) text += " -" + std::to_string(sides.back().ended);
  return text;
}

bool is_level(const ScreenColumn& column) { return column.headline.shown == CTPROF_SHOWN_LEVEL; }

// Writes the figures of one screen.
class Cells {
 public:
  Cells(const Report& report, const Screen& screen) : report_(&report), screen_(&screen) {}

  std::string figure(const ScreenRow& row, std::size_t at) const {
    const auto figures = screen_->figures(row, at);
    std::vector<double> values;
    for (const ScreenFigure& one : figures) values.push_back(one.value);
    std::string text = brief_steps(values, unit(at));
    if (figures.size() == 1 && is_level(column(at))) text += level_change(figures[0], at);
    return text;
  }

  // "%wait 0.4→187 +187"
  std::string most(const ScreenRow& row) const {
    if (row.score == 0) return "-";
    const std::size_t at = row.decided_by;
    return printable(column(at).headline.label) + " " + figure(row, at) + " " +
           signed_text(moved(column(at), screen_->figures(row, at)), at);
  }

  Tint tint(const ScreenRow& row, std::size_t at) const {
    if (row.score == 0 || row.decided_by != at) return Tint::Plain;
    return moved(column(at), screen_->figures(row, at)) < 0 ? Tint::Less : Tint::More;
  }

 private:
  const ScreenColumn& column(std::size_t at) const { return screen_->columns[at]; }
  std::string_view unit(std::size_t at) const {
    if (column(at).headline.shown == CTPROF_SHOWN_PERCENT) return "percent";
    return report_->metrics()[column(at).metric].unit;
  }
  std::string signed_text(double value, std::size_t at) const {
    return (value > 0 ? "+" : "") + brief(value, unit(at));
  }
  // A change below the floor is no news.
  std::string level_change(const ScreenFigure& figure, std::size_t at) const {
    if (figure.is_new) return " new";
    const bool is_news = figure.change != 0 && std::abs(figure.change) >= column(at).floor;
    return is_news ? " " + signed_text(figure.change, at) : "";
  }

  const Report* report_;
  const Screen* screen_;
};

// --- the table
// ------------------------------------------------------------------------------------------

class ScreenTable {
 public:
  ScreenTable(const Report& report, std::size_t rows)
      : report_(&report),
        screen_(report.screen()),
        cells_(report, *screen_),
        rows_(std::span(screen_->rows).first(std::min(rows, screen_->rows.size()))) {}

  void append_to(std::string& out, const TextLayout& layout) {
    choose(layout.width);
    std::vector<TextColumn> columns{
        {header_of_groups(report_->spec()), Align::Left, kLeastGroup, false},
        {"threads", Align::Right, 0, false}};
    if (report_->compares()) columns.push_back({std::string(kMostMoved), Align::Left, 0, false});
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (fits_[at]) columns.push_back({label(at), Align::Right, 0, false});
    TextTable table(std::move(columns));
    for (const ScreenRow& row : rows_) table.add(cells_of(row));
    if (!table.empty()) table.append_to(out, layout);
  }

  // Labels of the columns that went for width. After append_to().
  std::vector<std::string> gone() const {
    std::vector<std::string> labels;
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (!fits_[at]) labels.push_back(label(at));
    return labels;
  }

 private:
  std::string label(std::size_t at) const { return printable(screen_->columns[at].headline.label); }

  std::vector<TextCell> cells_of(const ScreenRow& row) const {
    std::vector<TextCell> cells = fixed_cells(row);
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (fits_[at]) cells.push_back({cells_.figure(row, at), cells_.tint(row, at)});
    return cells;
  }

  std::vector<TextCell> fixed_cells(const ScreenRow& row) const {
    std::vector<TextCell> cells{{name_of(row)}, {threads_text(row.threads)}};
    if (report_->compares()) cells.push_back({cells_.most(row), cells_.tint(row, row.decided_by)});
    return cells;
  }

  // A cgroup that stands below another is told by what that lacks; under `all` one that the row
  // before has as well is told once.
  std::string name_of(const ScreenRow& row) const {
    const auto& names = report_->grouping().names;
    std::string_view name = names[row.group];
    if (row.depth > 0) {
      name.remove_prefix(names[row.below].size());
      if (name.starts_with('/')) name.remove_prefix(1);
      return std::string(2 * std::min(row.depth, kMostDepth), ' ') + told_name(name);
    }
    const ScreenRow* before = &row == rows_.data() ? nullptr : &row - 1;
    const bool is_again = before && key_parts(name).size() > 1 &&
                          key_parts(name)[0] == key_parts(names[before->group])[0];
    if (is_again) name.remove_prefix(key_parts(name)[0].size() + 1);
    return (is_again ? "  > " : "") + told_name(readable_key(name));
  }

  // What cannot go, with the names of groups as narrow as they may become.
  std::size_t width_of_fixed() const {
    std::size_t group = kLeastGroup, threads = 0;
    std::size_t most = report_->compares() ? kMostMoved.size() + kBetween : 0;
    for (const ScreenRow& row : rows_) {
      const auto cells = fixed_cells(row);
      group = std::max(group, display_width(cells[0].text));
      threads = std::max(threads, display_width(cells[1].text));
      if (cells.size() > 2) most = std::max(most, display_width(cells[2].text) + kBetween);
    }
    return std::min(group, readable_width(report_->spec().group_by)) + kBetween +
           std::max(threads, std::string_view("threads").size()) + most;
  }

  std::size_t width_of(std::size_t at) const {
    std::size_t width = display_width(label(at));
    for (const ScreenRow& row : rows_)
      width = std::max(width, display_width(cells_.figure(row, at)));
    return width + kBetween;
  }

  // The first two, who has the CPUs and who waits for them; then by the largest share that a row
  // has of them, so that those that decided rows come first. Of several windows a column of its own
  // tells what decided: the others are in their order.
  std::vector<std::size_t> by_weight() const {
    std::vector<double> weights(screen_->columns.size());
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < weights.size(); ++at) {
      order.push_back(at);
      for (const ScreenRow& row : report_->compares() ? std::span<const ScreenRow>{} : rows_)
        if (const double share = screen_->share(row, at); share > weights[at]) weights[at] = share;
      if (at < kAlwaysFirst) weights[at] = std::numeric_limits<double>::infinity();
    }
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t at) { return weights[at]; });
    return order;
  }

  void choose(std::size_t width) {
    fits_.assign(screen_->columns.size(), width == 0);
    std::size_t taken = width_of_fixed();
    for (const std::size_t at : by_weight()) {
      const std::size_t more = width_of(at);
      if (width == 0 || taken + more > width) continue;
      fits_[at] = true;
      taken += more;
    }
  }

  const Report* report_;
  const Screen* screen_;
  Cells cells_;
  std::span<const ScreenRow> rows_;
  std::vector<bool> fits_;
};

// --- what is not there
// ----------------------------------------------------------------------------------

std::string joined_by(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string not_measured(const Report& report) {
  if (report.absent().empty()) return {};
  const auto shown = std::ranges::count_if(report.metrics(), &PlannedMetric::shown);
  return "not measured here: " + std::to_string(report.absent().size()) + " of " +
         counted(static_cast<std::uint64_t>(shown), "metric") + " (ctprof doctor)";
}

std::string not_shown(const Report& report, std::size_t rows,
                      const std::vector<std::string>& gone) {
  const Screen& screen = *report.screen();
  std::vector<std::string> parts;
  if (screen.rows.size() > rows)
    parts.push_back(counted(screen.rows.size() - rows, "more row") + " (--limit 0)");
  if (screen.quiet_groups) parts.push_back(counted(screen.quiet_groups, "quiet group"));
  if (screen.quiet_kernel_threads)
    parts.push_back(counted(screen.quiet_kernel_threads, "quiet kernel thread"));
  if (screen.own_threads) parts.push_back(counted(screen.own_threads, "thread") + " of ctprof");
  std::vector<std::string> columns = gone;
  for (const std::string& label : screen.no_place) columns.push_back(printable(label));
  if (!columns.empty()) parts.push_back("for width " + joined_by(columns, " "));
  parts.push_back("other figures (--details)");
  return "not shown: " + joined_by(parts, ", ");
}

std::string in_lines(const std::string& text, std::size_t width) {
  return text.empty() ? "" : wrapped(text, width);
}

std::string opening(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout) {
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (report.runs(side).size() > 1) return heading(report, files, layout);
  std::string out;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    out += window_opening(report.sides()[side], report.compares() ? side_name(side) : "",
                          files[side], layout);
  return report.compares() ? out + other_boots(report) + host_text(report, layout) : out;
}

// "worker/{N} cpu_affinity 0-1 → 1": settings of groups on the screen, and of the host, that differ
// between the windows.
std::vector<std::string> settings_between(const Report& report) {
  std::vector<std::string> found;
  const auto compare = [&](std::uint32_t group, std::size_t at) {
    const PlannedMetric& metric = report.metrics()[at];
    for (std::size_t side = 1; side < report.sides().size(); ++side) {
      if (report.changes().of(group, at, side).moved != Moved::Yes) continue;
      const std::string& name = report.grouping().name(metric.entity, group);
      found.push_back(told_name(readable_key(name)) + " " + told_name(metric.name) + " " +
                      told_name(report.rollup().text({0, group, at})) + " → " +
                      told_name(report.rollup().text({side, group, at})));
    }
  };
  for (std::size_t at = 0; at < report.metrics().size(); ++at) {
    if (!report.metrics()[at].setting) continue;
    if (report.metrics()[at].entity == Entity::Host) compare(0, at);
    for (const ScreenRow& row : report.screen()->rows)
      if (report.metrics()[at].entity != Entity::Host) compare(row.group, at);
  }
  return found;
}

// What changed inside each window, of as many as fit.
std::string settings_inside(const Report& report, std::size_t width) {
  std::string out;
  std::size_t told = 0, more = 0;
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    for (const RunFacts& run : report.runs(side)) {
      const std::string said = settings_sentence(*run.window, width);
      if (!said.empty() && told == kMostSettings)
        ++more;
      else if (!said.empty())
        out += said, ++told;
    }
  return more ? out + "settings changed in " + counted(more, "more run") + "; see --format json\n"
              : out;
}

std::string settings(const Report& report, std::size_t width) {
  std::string out = settings_inside(report, width);
  std::vector<std::string> found = settings_between(report);
  if (found.empty()) return out;
  const std::size_t more = found.size() - std::min(found.size(), kMostSettings);
  found.resize(found.size() - more);
  if (more) found.push_back("and " + std::to_string(more) + " more");
  return out + wrapped("settings that differ: " + joined_by(found, "; "), width);
}

std::string with_rows(const Report& report, std::span<const std::string> files,
                      const TextLayout& layout, std::size_t rows) {
  std::string out = opening(report, files, layout);
  ScreenTable table(report, rows);
  table.append_to(out, layout);
  out += settings(report, layout.width);
  for (const std::string& note : report.notes())
    out += wrapped(told_name(note, kMostNote), layout.width);
  return out + in_lines(not_measured(report), layout.width) +
         in_lines(not_shown(report, rows, table.gone()), layout.width);
}

}  // namespace

std::string screen_text(const Report& report, std::span<const std::string> files,
                        const ScreenLayout& layout) {
  const std::size_t all = report.screen()->rows.size();
  if (layout.rows) return with_rows(report, files, layout.text, *layout.rows ? *layout.rows : all);
  // What is left out makes lines too; one is for the prompt.
  for (std::size_t rows = std::min(all, layout.lines);;) {
    std::string text = with_rows(report, files, layout.text, rows);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    if (lines <= layout.lines || rows <= kLeastRows) return text;
    rows -= std::min(lines - layout.lines, rows - kLeastRows);
  }
}

}  // namespace ctprof
