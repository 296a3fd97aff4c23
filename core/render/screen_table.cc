#include "core/render/screen_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/shown_figures.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kLeastGroup = 12;
constexpr std::size_t kAlwaysFirst = 2;  // columns that are omitted last
constexpr std::size_t kMostDepth = 8;    // indentation limit for rows of a tree

// Returns the width that is reserved for names of groups: the maximum length of a process name, or
// for a path a third of a narrow terminal.
std::size_t readable_width(GroupBy by, std::size_t width) {
  const bool is_path = by == GroupBy::All || by == GroupBy::Cgroup;
  return std::min<std::size_t>(is_path ? 32 : 16, std::max(kLeastGroup, width / 3));
}

// After: the numbers of started and exited threads are shown only for the last side.
enum class Threads { No, Living, After, All };
enum class Most { No, Figures, Change };

// The contents of the columns before the headlines.
struct Form {
  Threads threads;
  Most most;
};

// From the widest to the narrowest.
constexpr Form kForms[] = {{Threads::All, Most::Change},    {Threads::After, Most::Change},
                           {Threads::After, Most::Figures}, {Threads::Living, Most::Figures},
                           {Threads::No, Most::Figures},    {Threads::No, Most::No}};

// Returns "4→5" for several windows, "5" if all have the same number.
std::string steps(std::span<const ScreenThreads> sides, double ScreenThreads::*count) {
  std::string text = count_text(sides.front().*count);
  if (!std::ranges::all_of(
          sides, [&](const ScreenThreads& side) { return side.*count == sides.front().*count; }))
    for (const ScreenThreads& side : sides.subspan(1)) text += "→" + count_text(side.*count);
  return text;
}

// Returns "5 +1 -1": living threads, and threads that started and exited inside the window.
std::string threads_text(std::span<const ScreenThreads> sides, Threads told) {
  std::string text = steps(sides, &ScreenThreads::living);
  if (told == Threads::Living) return text;
  if (told == Threads::After) sides = sides.last(1);
  for (const auto& [sign, count] :
       {std::pair(" +", &ScreenThreads::born), {" -", &ScreenThreads::ended}})
    if (const std::string told_steps = steps(sides, count); told_steps != "0")
      text += sign + told_steps;
  return text;
}

bool is_level(const ScreenColumn& column) { return column.headline.shown == CTPROF_SHOWN_LEVEL; }

// Returns "1→2" if the difference of the second side is significant or not tested, otherwise "1~2".
std::string with_doubts(const std::string& steps, std::span<const ScreenFigure> figures,
                        const Families& families) {
  constexpr std::string_view kArrow = "→";
  std::string text = steps;
  std::size_t from = 0;
  for (std::size_t side = 1; side < figures.size(); ++side) {
    const std::size_t arrow = text.find(kArrow, from);
    if (arrow == text.npos) break;
    const auto& proof = figures[side].proof;
    if (families.design(side) && !(proof && proof->proven))
      text.replace(arrow, kArrow.size(), kNotProven);
    from = arrow + 1;
  }
  return text;
}

// Formats the figures of one screen.
class Cells {
 public:
  Cells(const Report& report, const Screen& screen) : report_(&report), screen_(&screen) {}

  // Returns the figure, with the growth of memory inside the window: "285Mi +213Mi"; for several
  // windows, that of the last one: "72.0Mi→285Mi (+213Mi)".
  std::string figure(const ScreenRow& row, std::size_t at) const {
    const auto figures = screen_->figures(row, at);
    if (!is_level(column(at))) return values(row, at);
    const std::string change = level_change(figures.back(), at);
    if (figures.size() == 1) return values(row, at) + change;
    return change.starts_with(" +") ? values(row, at) + " (" + change.substr(1) + ")"
                                    : values(row, at);
  }

  // Returns for example "%wait 0.4→187 +187".
  std::string most(const ScreenRow& row, Most told) const {
    if (!row.has_moved) return "-";
    const std::size_t at = row.decided_by;
    const std::string text = printable(column(at).headline.label) + " " + values(row, at);
    if (told == Most::Figures) return text;
    if (const auto& proof = screen_->figures(row, at).back().proof;
        proof && row.threads.size() == 2 && !std::isnan(without_floor(*proof).shift))
      return text + " " + shift_text(without_floor(*proof));
    return text + " " + signed_text(moved(column(at), screen_->figures(row, at)), at);
  }

  Tint tint(const ScreenRow& row, std::size_t at) const {
    if (report_->families().judge() && !any_proven(screen_->figures(row, at))) return Tint::Faint;
    if (!row.has_moved || row.decided_by != at) return Tint::Plain;
    return moved(column(at), screen_->figures(row, at)) < 0 ? Tint::Less : Tint::More;
  }

 private:
  std::string values(const ScreenRow& row, std::size_t at) const {
    std::vector<double> values = shown_figures(*report_, row, at).sides;
    for (std::size_t side = 0; side < values.size(); ++side)
      if (!has_level(row, side, at)) values[side] = kNaN;
    return with_doubts(brief_steps(values, unit(at)), screen_->figures(row, at),
                       report_->families());
  }
  // A group whose processes all exited has no memory level, and neither have kernel threads.
  bool has_level(const ScreenRow& row, std::size_t side, std::size_t at) const {
    if (!is_level(column(at)) || screen_->figures(row, at)[side].value != 0) return true;
    return report_->rollup().coverage({side, row.group, column(at).metric}).values > 0;
  }
  const ScreenColumn& column(std::size_t at) const { return screen_->columns[at]; }
  std::string_view unit(std::size_t at) const {
    if (column(at).headline.shown == CTPROF_SHOWN_PERCENT) return "percent";
    return report_->metrics()[column(at).metric].unit;
  }
  std::string signed_text(double value, std::size_t at) const {
    return (value > 0 ? "+" : "") + brief(value, unit(at));
  }
  // Returns the change of a level; empty if it is below the floor or, for memory, small for a
  // process.
  std::string level_change(const ScreenFigure& figure, std::size_t at) const {
    constexpr double kLeastBytes = 1 << 20;
    if (figure.is_new) return " new";
    const double floor =
        unit(at) == "bytes" ? std::min(column(at).floor, kLeastBytes) : column(at).floor;
    const bool is_news = figure.change != 0 && std::abs(figure.change) >= floor;
    return is_news ? " " + signed_text(figure.change, at) : "";
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
      known_.push_back(is_known(at));
      has_marks_.push_back(
          std::ranges::any_of(rows_, [&](const ScreenRow& row) { return is_marked(row, at); }));
    }
  }

  void append_to(std::string& out, const TextLayout& layout) {
    choose_form(layout.width);
    choose_headlines(layout.width);
    std::vector<TextColumn> columns{
        {printable(group_column(report_->spec())), Align::Left, kLeastGroup, false}};
    if (tells_threads()) columns.push_back({std::string(kThreadsColumn), Align::Right, 0, false});
    if (tells_most()) columns.push_back({std::string(kMovedColumn), Align::Left, 0, false});
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (fits_[at]) columns.push_back({label(at), Align::Right, 0, false});
    TextTable table(std::move(columns));
    for (const ScreenRow& row : rows_) table.add(cells_of(row));
    if (!table.empty()) table.append_to(out, layout);
  }

  // Returns which thread counts were omitted; empty if none. REQUIRES: append_to() was called.
  std::string threads_gone() const {
    if (form_.threads == Threads::No) return "threads";
    if (form_.threads == Threads::Living) return "threads started and exited";
    const bool tells_all = form_.threads == Threads::All || !report_->compares();
    return tells_all ? "" : "threads started and exited before";
  }

  // Returns the labels of columns that were omitted for width. REQUIRES: append_to() was called.
  std::vector<std::string> gone() const {
    std::vector<std::string> labels;
    if (report_->compares() && !tells_most()) labels.emplace_back(kMovedColumn);
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (!fits_[at] && known_[at]) labels.push_back(label(at));
    return labels;
  }

  bool has_marks() const { return std::ranges::find(has_marks_, true) != has_marks_.end(); }

 private:
  bool tells_threads() const { return form_.threads != Threads::No; }
  bool tells_most() const { return report_->compares() && form_.most != Most::No; }
  std::string label(std::size_t at) const { return printable(screen_->columns[at].headline.label); }

  std::vector<TextCell> cells_of(const ScreenRow& row) const {
    std::vector<TextCell> cells = fixed_cells(row);
    for (std::size_t at = 0; at < fits_.size(); ++at)
      if (fits_[at]) cells.push_back({figure(row, at), cells_.tint(row, at)});
    return cells;
  }

  // Formats a figure. For one window, a mark follows the figure that orders the row; for several,
  // an extra column names it. Unmarked figures get a blank, so that digits stay aligned.
  std::string figure(const ScreenRow& row, std::size_t at) const {
    const std::string text = cells_.figure(row, at);
    if (!has_marks_[at]) return text;
    return text + (is_marked(row, at) ? std::string(kMark) : " ");
  }

  bool is_marked(const ScreenRow& row, std::size_t at) const {
    return !report_->compares() && report_->spec().sort.empty() && row.score > 0 &&
           row.decided_by == at;
  }

  // Returns whether any row has a figure in this column; delays without kernel accounting have
  // none.
  bool is_known(std::size_t at) const {
    return rows_.empty() || std::ranges::any_of(rows_, [&](const ScreenRow& row) {
             const auto figures = screen_->figures(row, at);
             for (std::size_t side = 0; side < figures.size(); ++side)
               if (row.threads[side].all() > 0 && !std::isnan(figures[side].value)) return true;
             return false;
           });
  }

  std::vector<TextCell> fixed_cells(const ScreenRow& row) const {
    std::vector<TextCell> cells{{name_of(row)}};
    if (tells_threads()) cells.push_back({threads_text(row.threads, form_.threads)});
    if (tells_most())
      cells.push_back({cells_.most(row, form_.most), cells_.tint(row, row.decided_by)});
    return cells;
  }

  // Returns the name in the table. A cgroup below another is shown relative to it; under `all`, a
  // cgroup that equals that of the previous row is not repeated.
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

  // Returns the width of the columns of the form, with group names at their minimum readable width.
  std::size_t width_of_form(std::size_t width) const {
    std::vector<std::size_t> widths{kLeastGroup};
    if (tells_threads()) widths.push_back(kThreadsColumn.size());
    if (tells_most()) widths.push_back(kMovedColumn.size());
    for (const ScreenRow& row : rows_) {
      const auto cells = fixed_cells(row);
      for (std::size_t i = 0; i < widths.size(); ++i)
        widths[i] = std::max(widths[i], display_width(cells[i].text));
    }
    widths[0] = std::min(widths[0], readable_width(report_->spec().group_by, width));
    return std::accumulate(widths.begin(), widths.end(), kColumnGap * (widths.size() - 1));
  }

  // Chooses the widest form that leaves space for the most important data: the largest change or,
  // if that is not shown, the two headlines about CPU use and waiting for a CPU. Numbers of threads
  // that started and exited are less important than these two.
  void choose_form(std::size_t width) {
    for (const Form form : kForms) {
      form_ = form;
      std::size_t needed = width_of_form(width);
      const bool beside_first = !tells_most() || form.threads == Threads::All;
      for (std::size_t at = 0; beside_first && at < std::min(kAlwaysFirst, screen_->columns.size());
           ++at)
        needed += width_of(at);
      if (width == 0 || needed <= width) return;
    }
  }

  std::size_t width_of(std::size_t at) const {
    std::size_t width = display_width(label(at));
    for (const ScreenRow& row : rows_) width = std::max(width, display_width(figure(row, at)));
    return width + kColumnGap;
  }

  // Returns the columns in order of importance: first CPU use and waiting for a CPU, then by the
  // largest share of any row, so that columns that order rows come first. For several windows, an
  // extra column shows what orders them, and the other columns keep their order.
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

  // Selects the headlines that fit. A column that is too wide is skipped; only the first two are
  // not.
  void choose_headlines(std::size_t width) {
    fits_ = known_;
    if (width == 0) return;
    fits_.assign(screen_->columns.size(), false);
    std::size_t taken = width_of_form(width);
    for (const std::size_t at : by_weight()) {
      if (!known_[at]) continue;
      const std::size_t more = width_of(at);
      fits_[at] = taken + more <= width;
      if (fits_[at]) taken += more;
      if (!fits_[at] && at < kAlwaysFirst) return;
    }
  }

  const Report* report_;
  const Screen* screen_;
  Cells cells_;
  std::span<const ScreenRow> rows_;
  Form form_ = kForms[0];
  std::vector<bool> known_, has_marks_, fits_;
};

}  // namespace

ScreenTableText screen_table(const Report& report, std::size_t rows, const TextLayout& layout) {
  const std::span<const ScreenRow> all = report.screen()->rows;
  return screen_table(report, all.first(std::min(rows, all.size())), layout);
}

ScreenTableText screen_table(const Report& report, std::span<const ScreenRow> rows,
                             const TextLayout& layout) {
  ScreenTable table(report, rows);
  ScreenTableText printed;
  table.append_to(printed.text, layout);
  printed.threads_gone = table.threads_gone();
  printed.gone = table.gone();
  printed.has_marks = table.has_marks();
  return printed;
}

}  // namespace ctprof
