#include "core/render/screen_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/displayed_figures.hpp"
#include "core/render/evidence_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMinGroupWidth = 12;
constexpr std::size_t kKeptColumns = 2;  // columns that are omitted last
constexpr std::size_t kMaxDepth = 8;     // indentation limit for rows of a tree

// Returns the width that is reserved for names of groups: the maximum length of a process name, or
// for a path a third of a narrow terminal.
std::size_t get_readable_width(GroupBy by, std::size_t width) {
  const bool is_path = by == GroupBy::All || by == GroupBy::Cgroup;
  return std::min<std::size_t>(is_path ? 32 : 16, std::max(kMinGroupWidth, width / 3));
}

// LastSideChanges: the numbers of started and exited threads are shown only for the last side.
enum class ThreadCounts { None, Living, LastSideChanges, All };
enum class LargestChange { None, Figures, Change };

// The contents of the columns before the headlines.
struct TableForm {
  ThreadCounts threads;
  LargestChange largest_change;
};

// From the widest to the narrowest.
constexpr TableForm kTableForms[] = {{ThreadCounts::All, LargestChange::Change},
                                     {ThreadCounts::LastSideChanges, LargestChange::Change},
                                     {ThreadCounts::LastSideChanges, LargestChange::Figures},
                                     {ThreadCounts::Living, LargestChange::Figures},
                                     {ThreadCounts::None, LargestChange::Figures},
                                     {ThreadCounts::None, LargestChange::None}};

// Returns "4→5" for several windows, "5" if all have the same number.
std::string format_counts(std::span<const ScreenThreads> sides, double ScreenThreads::*count) {
  std::string text = format_decimal_count(sides.front().*count);
  if (!std::ranges::all_of(
          sides, [&](const ScreenThreads& side) { return side.*count == sides.front().*count; }))
    for (const ScreenThreads& side : sides.subspan(1))
      text += "→" + format_decimal_count(side.*count);
  return text;
}

// Returns "5 +1 -1": living threads, and threads that started and exited inside the window.
std::string format_threads(std::span<const ScreenThreads> sides, ThreadCounts shown) {
  std::string text = format_counts(sides, &ScreenThreads::living);
  if (shown == ThreadCounts::Living) return text;
  if (shown == ThreadCounts::LastSideChanges) sides = sides.last(1);
  for (const auto& [sign, count] :
       {std::pair(" +", &ScreenThreads::started), {" -", &ScreenThreads::exited}})
    if (const std::string counts = format_counts(sides, count); counts != "0")
      text += sign + counts;
  return text;
}

bool is_gauge(const ScreenColumn& column) { return column.headline.shown == CTPROF_SHOWN_LEVEL; }

// Returns "1→2" if the difference of the second side is significant or not tested, otherwise "1~2".
std::string mark_insignificant(const std::string& steps, std::span<const ScreenFigure> figures,
                               const Families& families) {
  constexpr std::string_view kArrow = "→";
  std::string text = steps;
  std::size_t search_start = 0;
  for (std::size_t side = 1; side < figures.size(); ++side) {
    const std::size_t arrow = text.find(kArrow, search_start);
    if (arrow == text.npos) break;
    const auto& test_result = figures[side].test_result;
    if (families.design(side) && !(test_result && test_result->is_significant))
      text.replace(arrow, kArrow.size(), kNotSignificant);
    search_start = arrow + 1;
  }
  return text;
}

// Formats the figures of one screen.
class CellFormatter {
 public:
  CellFormatter(const Report& report, const Screen& screen) : report_(&report), screen_(&screen) {}

  // Returns the figure, with the growth of memory inside the window: "285Mi +213Mi"; for several
  // windows, that of the last one: "72.0Mi→285Mi (+213Mi)".
  std::string format_figure(const ScreenRow& row, std::size_t at) const {
    const auto figures = screen_->figures(row, at);
    if (!is_gauge(column(at))) return format_values(row, at);
    const std::string change = format_level_change(figures.back(), at);
    if (figures.size() == 1) return format_values(row, at) + change;
    return change.starts_with(" +") ? format_values(row, at) + " (" + change.substr(1) + ")"
                                    : format_values(row, at);
  }

  // Returns text such as "%wait 0.4→187 +187".
  std::string format_largest_change(const ScreenRow& row, LargestChange shown) const {
    if (!row.has_score_value) return "-";
    const std::size_t at = row.score_column;
    const std::string text =
        make_printable(column(at).headline.label) + " " + format_values(row, at);
    if (shown == LargestChange::Figures) return text;
    if (const auto& proof = screen_->figures(row, at).back().test_result;
        proof && row.threads.size() == 2 && !std::isnan(remove_floor(*proof).shift))
      return text + " " + format_shift(remove_floor(*proof));
    return text + " " + format_signed(ordering_value(column(at), screen_->figures(row, at)), at);
  }

  Tint choose_tint(const ScreenRow& row, std::size_t at) const {
    if (report_->families().can_test() && !has_significant_change(screen_->figures(row, at)))
      return Tint::Faint;
    if (!row.has_score_value || row.score_column != at) return Tint::Plain;
    return ordering_value(column(at), screen_->figures(row, at)) < 0 ? Tint::Less : Tint::More;
  }

 private:
  std::string format_values(const ScreenRow& row, std::size_t at) const {
    const std::vector<double> values = compute_displayed_figures(*report_, row, at).sides;
    return mark_insignificant(format_brief_steps(values, get_unit(at)), screen_->figures(row, at),
                              report_->families());
  }
  const ScreenColumn& column(std::size_t at) const { return screen_->columns[at]; }
  std::string_view get_unit(std::size_t at) const {
    if (column(at).headline.shown == CTPROF_SHOWN_PERCENT) return "percent";
    return report_->metrics()[column(at).metric].unit;
  }
  std::string format_signed(double value, std::size_t at) const {
    return (value > 0 ? "+" : "") + format_brief(value, get_unit(at));
  }
  // Returns the change of a level; empty if it is below the floor or, for memory, small for a
  // process.
  std::string format_level_change(const ScreenFigure& figure, std::size_t at) const {
    constexpr double kMinBytes = 1 << 20;
    if (figure.is_new) return " new";
    const double floor =
        get_unit(at) == "bytes" ? std::min(column(at).floor, kMinBytes) : column(at).floor;
    const bool is_shown = figure.change != 0 && std::abs(figure.change) >= floor;
    return is_shown ? " " + format_signed(figure.change, at) : "";
  }

  const Report* report_;
  const Screen* screen_;
};

// --- the table
// ------------------------------------------------------------------------------------------

class ScreenTable {
 public:
  ScreenTable(const Report& report, std::span<const ScreenRow> rows)
      : report_(&report), screen_(report.screen()), cells_(report, *screen_), rows_(rows) {
    for (std::size_t at = 0; at < screen_->columns.size(); ++at) {
      is_known_.push_back(is_known(at));
      has_marks_.push_back(
          std::ranges::any_of(rows_, [&](const ScreenRow& row) { return is_marked(row, at); }));
    }
  }

  void append_to(std::string& out, const TextLayout& layout) {
    choose_table_form(layout.width);
    choose_headlines(layout.width);
    std::vector<TextColumn> columns{
        {make_printable(group_column(report_->spec())), Align::Left, kMinGroupWidth, false}};
    if (shows_threads()) columns.push_back({std::string(kThreadsColumn), Align::Right, 0, false});
    if (shows_largest_change())
      columns.push_back({std::string(kMovedColumn), Align::Left, 0, false});
    for (std::size_t at = 0; at < is_shown_.size(); ++at)
      if (is_shown_[at]) columns.push_back({get_label(at), Align::Right, 0, false});
    TextTable table(std::move(columns));
    for (const ScreenRow& row : rows_) table.add_row(make_cells(row));
    if (!table.empty()) table.append_to(out, layout);
  }

  // Returns which thread counts were omitted; empty if none. REQUIRES: append_to() was called.
  std::string describe_omitted_threads() const {
    if (table_form_.threads == ThreadCounts::None) return "threads";
    if (table_form_.threads == ThreadCounts::Living) return "threads started and exited";
    const bool shows_all_counts =
        table_form_.threads == ThreadCounts::All || !report_->is_comparison();
    return shows_all_counts ? "" : "threads started and exited before";
  }

  // Returns the labels of columns that were omitted because the terminal is too narrow. REQUIRES:
  // append_to() was called.
  std::vector<std::string> get_omitted_columns() const {
    std::vector<std::string> labels;
    if (report_->is_comparison() && !shows_largest_change()) labels.emplace_back(kMovedColumn);
    for (std::size_t at = 0; at < is_shown_.size(); ++at)
      if (!is_shown_[at] && is_known_[at]) labels.push_back(get_label(at));
    return labels;
  }

  bool has_marks() const { return std::ranges::find(has_marks_, true) != has_marks_.end(); }

 private:
  bool shows_threads() const { return table_form_.threads != ThreadCounts::None; }
  bool shows_largest_change() const {
    return report_->is_comparison() && table_form_.largest_change != LargestChange::None;
  }
  std::string get_label(std::size_t at) const {
    return make_printable(screen_->columns[at].headline.label);
  }

  std::vector<TextCell> make_cells(const ScreenRow& row) const {
    std::vector<TextCell> cells = make_fixed_cells(row);
    for (std::size_t at = 0; at < is_shown_.size(); ++at)
      if (is_shown_[at]) cells.push_back({format_figure(row, at), cells_.choose_tint(row, at)});
    return cells;
  }

  // Formats a figure. For one window, a mark follows the figure that orders the row; for several,
  // an extra column names it. Unmarked figures get a blank, so that digits stay aligned.
  std::string format_figure(const ScreenRow& row, std::size_t at) const {
    const std::string text = cells_.format_figure(row, at);
    if (!has_marks_[at]) return text;
    return text + (is_marked(row, at) ? std::string(kOrderMark) : " ");
  }

  bool is_marked(const ScreenRow& row, std::size_t at) const {
    return !report_->is_comparison() && report_->spec().sort.empty() && row.score > 0 &&
           row.score_column == at;
  }

  // Returns whether any row has a figure in this column; delays without kernel accounting have
  // none.
  bool is_known(std::size_t at) const {
    return rows_.empty() || std::ranges::any_of(rows_, [&](const ScreenRow& row) {
             const auto figures = screen_->figures(row, at);
             for (std::size_t side = 0; side < figures.size(); ++side)
               if (row.threads[side].total() > 0 && !std::isnan(figures[side].value)) return true;
             return false;
           });
  }

  std::vector<TextCell> make_fixed_cells(const ScreenRow& row) const {
    std::vector<TextCell> cells{{format_name(row)}};
    if (shows_threads()) cells.push_back({format_threads(row.threads, table_form_.threads)});
    if (shows_largest_change())
      cells.push_back({cells_.format_largest_change(row, table_form_.largest_change),
                       cells_.choose_tint(row, row.score_column)});
    return cells;
  }

  // Returns the name in the table. A cgroup below another is shown relative to it; under `all`, a
  // cgroup that equals that of the previous row is not repeated.
  std::string format_name(const ScreenRow& row) const {
    const auto& names = report_->grouping().names;
    std::string_view name = names[row.group];
    if (row.depth > 0) {
      name.remove_prefix(names[row.parent_group].size());
      if (name.starts_with('/')) name.remove_prefix(1);
      return std::string(2 * std::min(row.depth, kMaxDepth), ' ') + make_printable_short(name);
    }
    const ScreenRow* before = &row == rows_.data() ? nullptr : &row - 1;
    const bool is_same_cgroup = before && key_parts(name).size() > 1 &&
                                key_parts(name)[0] == key_parts(names[before->group])[0];
    if (is_same_cgroup) name.remove_prefix(key_parts(name)[0].size() + 1);
    return (is_same_cgroup ? "  > " : "") + make_printable_short(readable_key(name));
  }

  // Returns the width of the columns of the form, with group names at their minimum readable width.
  std::size_t get_form_width(std::size_t width) const {
    std::vector<std::size_t> widths{kMinGroupWidth};
    if (shows_threads()) widths.push_back(kThreadsColumn.size());
    if (shows_largest_change()) widths.push_back(kMovedColumn.size());
    for (const ScreenRow& row : rows_) {
      const auto cells = make_fixed_cells(row);
      for (std::size_t i = 0; i < widths.size(); ++i)
        widths[i] = std::max(widths[i], get_display_width(cells[i].text));
    }
    widths[0] = std::min(widths[0], get_readable_width(report_->spec().group_by, width));
    return std::accumulate(widths.begin(), widths.end(), kColumnGap * (widths.size() - 1));
  }

  // Chooses the widest form that leaves space for the most important data: the largest change or,
  // if that is not shown, the two headlines about CPU use and waiting for a CPU. Numbers of threads
  // that started and exited are less important than these two.
  void choose_table_form(std::size_t width) {
    for (const TableForm form : kTableForms) {
      table_form_ = form;
      std::size_t needed = get_form_width(width);
      const bool needs_kept_columns = !shows_largest_change() || form.threads == ThreadCounts::All;
      for (std::size_t at = 0;
           needs_kept_columns && at < std::min(kKeptColumns, screen_->columns.size()); ++at)
        needed += get_column_width(at);
      if (width == 0 || needed <= width) return;
    }
  }

  std::size_t get_column_width(std::size_t at) const {
    std::size_t width = get_display_width(get_label(at));
    for (const ScreenRow& row : rows_)
      width = std::max(width, get_display_width(format_figure(row, at)));
    return width + kColumnGap;
  }

  // Returns the columns in order of importance: first CPU use and waiting for a CPU, then by the
  // largest share of any row, so that columns that order rows come first. For several windows, an
  // extra column shows what orders them; columns with a difference come before those without any,
  // which would hide the cause.
  std::vector<std::size_t> sort_columns() const {
    std::vector<double> weights(screen_->columns.size());
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < weights.size(); ++at) {
      order.push_back(at);
      for (const ScreenRow& row : report_->is_comparison() ? std::span<const ScreenRow>{} : rows_)
        if (const double share = screen_->share(row, at); share > weights[at]) weights[at] = share;
      if (report_->is_comparison() && has_difference(at)) weights[at] = 1;
      if (at < kKeptColumns) weights[at] = std::numeric_limits<double>::infinity();
    }
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t at) { return weights[at]; });
    return order;
  }

  // Returns whether a row shows different figures of the sides.
  bool has_difference(std::size_t at) const {
    return std::ranges::any_of(rows_, [&](const ScreenRow& row) {
      const std::string text = format_figure(row, at);
      return text.find("→") != text.npos || text.find(kNotSignificant) != text.npos;
    });
  }

  // Selects the headlines that fit. A column that is too wide is skipped; only the first two are
  // not.
  void choose_headlines(std::size_t width) {
    is_shown_ = is_known_;
    if (width == 0) return;
    is_shown_.assign(screen_->columns.size(), false);
    std::size_t used_width = get_form_width(width);
    for (const std::size_t at : sort_columns()) {
      if (!is_known_[at]) continue;
      const std::size_t column_width = get_column_width(at);
      is_shown_[at] = used_width + column_width <= width;
      if (is_shown_[at]) used_width += column_width;
      if (!is_shown_[at] && at < kKeptColumns) return;
    }
  }

  const Report* report_;
  const Screen* screen_;
  CellFormatter cells_;
  std::span<const ScreenRow> rows_;
  TableForm table_form_ = kTableForms[0];
  std::vector<bool> is_known_, has_marks_, is_shown_;
};

}  // namespace

ScreenTableText format_screen_table(const Report& report, std::size_t rows,
                                    const TextLayout& layout) {
  const std::span<const ScreenRow> all = report.screen()->rows;
  return format_screen_table(report, all.first(std::min(rows, all.size())), layout);
}

ScreenTableText format_screen_table(const Report& report, std::span<const ScreenRow> rows,
                                    const TextLayout& layout) {
  ScreenTable table(report, rows);
  ScreenTableText printed;
  table.append_to(printed.text, layout);
  printed.omitted_threads = table.describe_omitted_threads();
  printed.omitted_columns = table.get_omitted_columns();
  printed.has_marks = table.has_marks();
  return printed;
}

}  // namespace ctprof
