// The screens of a view: lines of text for a terminal of a given size.

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/live/heading.hpp"
#include "tools/ctprof/live/view.hpp"
#include "tools/ctprof/live/view_text.hpp"

namespace ctprof::live {
namespace {

// Number of lines for findings above the table; smaller screens show fewer findings, or none. The
// screen heights exclude the lines for keys and the message.
constexpr std::size_t kFindingLines = 3, kFewFindingLines = 2;
constexpr std::size_t kTallScreenLines = 28, kMinLinesForFindings = 14;

}  // namespace

std::vector<Line> View::render(Size size) {
  drawn_table_ = {};
  std::vector<Line> lines = size.columns == 0 ? std::vector<Line>() : render_all(size);
  if (lines.size() > size.lines) lines.resize(size.lines);
  for (Line& line : lines)
    if (get_display_width(line.text) > size.columns) line.text = shorten(line.text, size.columns);
  return lines;
}

std::vector<Line> View::render_all(Size size) {
  std::vector<Line> lines;
  if (size.lines < kMinSize.lines || size.columns < kMinSize.columns) {
    add_text(lines,
             wrap_words("ctprof live needs a terminal of " + std::to_string(kMinSize.columns) +
                            " columns and " + std::to_string(kMinSize.lines) +
                            " lines; this one is smaller. q quits.",
                        size.columns));
    return lines;
  }
  const std::size_t below = message_.empty() ? 1 : 2;
  lines = render_body({size.lines - below, size.columns});
  lines.resize(size.lines - below);
  if (!message_.empty()) lines.push_back({make_printable(message_), LineStyle::Bold});
  if (is_typing_)
    lines.push_back(
        {"filter: " + make_printable(filter_) + "_   Enter applies, Esc cancels", LineStyle::Bold});
  else
    lines.push_back({key_line(size.columns), LineStyle::Dim});
  return lines;
}

std::vector<Line> View::render_body(Size size) {
  if (overlay_ == Overlay::Help) return scroll_lines(help_lines(size), size.lines);
  if (overlay_ == Overlay::Findings) return scroll_lines(findings_page(size), size.lines);
  if (history_->empty())
    return {
        {"the first window takes " + format_interval(interval_ns()) + " ...", LineStyle::Plain}};
  if (overlay_ == Overlay::Comparison) return comparison(size);
  std::vector<Line> lines = render_heading(size);
  if (lines.size() >= size.lines) return lines;
  const Size remaining_size{size.lines - lines.size(), size.columns};
  drawn_table_.line = lines.size();
  if (!shown_window_.error_text.empty())
    add_text(lines, wrap_words(make_printable(shown_window_.error_text), size.columns),
             LineStyle::Bold);
  else if (!screen())
    lines.push_back(
        {"no plugin has a metric for this screen: see `ctprof doctor`", LineStyle::Bold});
  else if (level_ == Level::Groups)
    append_lines(lines, group_table(remaining_size));
  else if (level_ == Level::Threads)
    append_lines(lines, thread_table(remaining_size));
  else
    append_lines(lines, scroll_lines(thread_lines(remaining_size), remaining_size.lines));
  return lines;
}

std::vector<Line> View::render_heading(Size size) {
  std::vector<Line> lines;
  const Sample* sample = history_->find(shown_window_.number);
  if (screen())
    for (std::string& line :
         heading_lines(shown_window_.report->sides().front(),
                       sample ? format_clock_time(sample->closed_ns) : std::string(), size.columns))
      lines.push_back({std::move(line)});
  if (lines.size() > size.lines / 3) lines.resize(size.lines / 3);
  if (level_ == Level::Groups) append_lines(lines, finding_lines(size));
  lines.push_back({truncate_text(state_line(), size.columns), LineStyle::Bold});
  return lines;
}

// Shows the first findings, truncated to one line each. A single finding may use all lines.
std::vector<Line> View::finding_lines(Size size) const {
  std::vector<Line> lines;
  const auto& findings = shown_window_.findings;
  if (findings.empty() || size.lines < kMinLinesForFindings) return lines;
  const std::size_t most = size.lines < kTallScreenLines ? kFewFindingLines : kFindingLines;
  if (findings.size() == 1) {
    add_text(lines, wrap_words("1 " + findings.front(), size.columns));
    if (lines.size() > most) {
      lines.resize(most);
      lines.back().text = fold(lines.back().text, size.columns - 2).front() + " …";
    }
  }
  for (std::size_t at = 0; findings.size() > 1 && at < std::min(findings.size(), most); ++at)
    lines.push_back({truncate_text(std::to_string(at + 1) + " " + findings[at], size.columns)});
  return lines;
}

// Returns "paused, 0:12 ago   processes by name, by score   history 2:13   A 20:30:55".
std::string View::state_line() const {
  std::string line = "now";
  const Sample* shown = history_->find(shown_window_.number);
  if (paused_at_ && shown)
    line = "paused, " +
           format_minutes(history_->newest().closed_ns -
                          std::min(shown->closed_ns, history_->newest().closed_ns)) +
           " ago";
  const std::string order_label = (order().key.empty() ? "score" : make_printable(order().key)) +
                                  (order().is_reversed ? ", reversed" : "");
  if (level_ == Level::Groups) line += "   " + axis_label(axis()) + ", by " + order_label;
  if (level_ == Level::Threads)
    line += "   threads of " + shorten(make_printable_short(readable_key(group_)), 30) + ", by " +
            order_label;
  if (level_ == Level::Thread && thread_page_)
    line += "   thread " + std::to_string(thread_page_->thread().tid) + " of process " +
            std::to_string(thread_page_->thread().tgid);
  if (!filter_.empty()) line += "   filter " + make_printable(filter_);
  if (interval_ != kDefaultInterval) line += "   every " + format_interval(interval_ns());
  line += "   history " + format_minutes(history_->length_ns());
  if (history_->is_limited_by_size()) line += " (--history is full)";
  if (mark_a_) line += "   A " + format_clock_time(mark_a_->closed_ns);
  if (mark_b_) line += "   B " + format_clock_time(mark_b_->closed_ns);
  return line;
}

// --- tables

// Scrolls so that the selected row is visible, and returns the first row of the table.
std::size_t View::scroll_to_selection(std::size_t available_lines) {
  visible_rows_ = std::max<std::size_t>(available_lines, 1);
  Position& current_position = position();
  current_position.top = std::min(current_position.top, current_position.selected);
  if (current_position.selected >= current_position.top + visible_rows_)
    current_position.top = current_position.selected - visible_rows_ + 1;
  const std::size_t last = rows_.size() - std::min(rows_.size(), visible_rows_);
  return current_position.top = std::min(current_position.top, last);
}

// Explains why a table is empty.
std::string View::explain_empty_table() const {
  if (hidden_rows_ > 0) return "kernel threads are hidden; K shows them";
  if (level_ == Level::Threads)
    return filter_.empty() ? "the group has no threads in this window"
                           : "no thread name contains the filter text";
  return filter_.empty() ? "no group is active"
                         : "no name of an active group contains the filter text";
}

// REQUIRES: `lines` are a heading and the rows from `first` on.
void View::remember_table(std::vector<Line>& lines, std::size_t first, std::size_t count) {
  if (lines.empty()) return;
  lines.front().style = LineStyle::Heading;
  if (const std::size_t at = position().selected - first + 1; at < lines.size())
    lines[at].style = LineStyle::Selected;
  drawn_table_.first = first;
  drawn_table_.count = std::min(count, lines.size() - 1);
  drawn_table_.heading = lines.front().text;
}

std::vector<Line> View::group_table(Size size) {
  if (rows_.empty()) return {{explain_empty_table(), LineStyle::Dim}};
  // Two lines are for the heading of the table and for the note below it.
  const std::size_t available_lines = size.lines - std::min<std::size_t>(size.lines, 2);
  const std::size_t first = scroll_to_selection(available_lines),
                    count = std::min(rows_.size() - first, visible_rows_);
  const bool is_rearranged = !order().key.empty() || order().is_reversed || !filter_.empty();
  std::vector<ScreenRow> shown;
  for (std::size_t at = first; at < first + count; ++at) {
    shown.push_back(screen()->rows[rows_[at].at]);
    // Do not indent a row whose parent is not directly above it.
    if (is_rearranged || at == first) shown.back().depth = 0;
  }
  const ScreenTableText table =
      format_screen_table(*shown_window_.report, shown, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, table.text);
  remember_table(lines, first, count);
  std::vector<std::string> rest;
  if (rows_.size() > count) rest.push_back(format_count(rows_.size() - count, "more row"));
  if (!table.omitted_columns.empty())
    rest.push_back("for width " + join_texts(table.omitted_columns, " "));
  if (const std::size_t quiet = screen()->quiet_groups)
    rest.push_back(format_count(quiet, "quiet group"));
  if (const auto kernel = screen()->quiet_kernel_threads)
    rest.push_back(format_count(kernel, "quiet kernel thread"));
  if (hidden_rows_ > 0)
    rest.push_back(format_count(hidden_rows_, "row") + " of kernel threads (K)");
  if (!rest.empty())
    lines.push_back(
        {truncate_text("not shown: " + join_texts(rest, ", "), size.columns), LineStyle::Dim});
  return lines;
}

std::string View::column_text(std::size_t column, double figure) const {
  const ScreenColumn& screen_column = screen()->columns[column];
  const bool is_percent = screen_column.headline.shown == CTPROF_SHOWN_PERCENT;
  return format_brief(
      figure, is_percent ? "percent" : shown_window_.report->metrics()[screen_column.metric].unit);
}

std::vector<Line> View::thread_table(Size size) {
  if (rows_.empty()) return {{explain_empty_table(), LineStyle::Dim}};
  const std::size_t available_lines = size.lines - std::min<std::size_t>(size.lines, 1);
  const std::size_t first = scroll_to_selection(available_lines),
                    count = std::min(rows_.size() - first, visible_rows_);
  std::vector<TextColumn> columns{{"thread", Align::Left, 8, false},
                                  {"tid", Align::Right, 0, false},
                                  {"state", Align::Left, 0, true}};
  std::vector<std::size_t> present_columns;  // columns of the screen for which a thread has a value
  for (std::size_t at = 0; at < screen()->columns.size(); ++at)
    if (std::ranges::any_of(threads_,
                            [&](const ThreadRow& one) { return !std::isnan(one.figures[at]); })) {
      present_columns.push_back(at);
      columns.push_back(
          {make_printable(screen()->columns[at].headline.label), Align::Right, 0, true});
    }
  TextTable table(std::move(columns));
  for (std::size_t row = first; row < first + count; ++row) {
    const ThreadRow& thread = threads_[rows_[row].at];
    std::vector<TextCell> cells{{make_printable_short(thread.name)},
                                {std::to_string(thread.id.tid)}};
    const char* end = thread.has_exited ? "exited" : thread.is_started ? "new" : "";
    cells.push_back({*end ? end : make_printable(thread.state)});
    for (const std::size_t at : present_columns)
      cells.push_back({column_text(at, thread.figures[at])});
    table.add_row(std::move(cells));
  }
  std::string text;
  table.append_to(text, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, text);
  remember_table(lines, first, count);
  return lines;
}

}  // namespace ctprof::live
