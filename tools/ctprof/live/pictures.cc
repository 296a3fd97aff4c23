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
#include "tools/ctprof/live/picture_text.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {
namespace {

// Number of lines for findings above the table; smaller screens show fewer findings, or none. The
// screen heights exclude the lines for keys and the message.
constexpr std::size_t kFindingLines = 3, kFindingLinesOfFew = 2;
constexpr std::size_t kManyLines = 28, kFewestLines = 14;

}  // namespace

std::vector<Line> View::picture(Size size) {
  drawn_ = {};
  std::vector<Line> lines = size.columns == 0 ? std::vector<Line>() : whole_picture(size);
  if (lines.size() > size.lines) lines.resize(size.lines);
  for (Line& line : lines)
    if (display_width(line.text) > size.columns) line.text = shortened(line.text, size.columns);
  return lines;
}

std::vector<Line> View::whole_picture(Size size) {
  std::vector<Line> lines;
  if (size.lines < kLeastSize.lines || size.columns < kLeastSize.columns) {
    add_text(lines,
             wrapped("ctprof live needs a terminal of " + std::to_string(kLeastSize.columns) +
                         " columns and " + std::to_string(kLeastSize.lines) +
                         " lines; this one is smaller. q quits.",
                     size.columns));
    return lines;
  }
  const std::size_t below = message_.empty() ? 1 : 2;
  lines = body({size.lines - below, size.columns});
  lines.resize(size.lines - below);
  if (!message_.empty()) lines.push_back({printable(message_), Look::Loud});
  if (is_typing_)
    lines.push_back(
        {"filter: " + printable(filter_) + "_   Enter applies, Esc cancels", Look::Loud});
  else
    lines.push_back({key_line(size.columns), Look::Faint});
  return lines;
}

std::vector<Line> View::body(Size size) {
  if (over_ == Over::Help) return scrolled(help_lines(size), size.lines);
  if (over_ == Over::Findings) return scrolled(findings_page(size), size.lines);
  if (history_->empty())
    return {{"the first window takes " + interval_in_words(interval_ns()) + " ...", Look::Plain}};
  if (over_ == Over::Comparison) return comparison(size);
  std::vector<Line> lines = head(size);
  if (lines.size() >= size.lines) return lines;
  const Size left{size.lines - lines.size(), size.columns};
  drawn_.line = lines.size();
  if (!shown_.trouble.empty())
    add_text(lines, wrapped(printable(shown_.trouble), size.columns), Look::Loud);
  else if (!screen())
    lines.push_back({"no plugin has a metric for this screen: see `ctprof doctor`", Look::Loud});
  else if (level_ == Level::Groups)
    append(lines, group_table(left));
  else if (level_ == Level::Threads)
    append(lines, thread_table(left));
  else
    append(lines, scrolled(thread_lines(left), left.lines));
  return lines;
}

std::vector<Line> View::head(Size size) {
  std::vector<Line> lines;
  const Sample* sample = history_->find(shown_.number);
  if (screen())
    for (std::string& line :
         heading_lines(shown_.report->sides().front(),
                       sample ? clock_time(sample->closed_ns) : std::string(), size.columns))
      lines.push_back({std::move(line)});
  if (lines.size() > size.lines / 3) lines.resize(size.lines / 3);
  if (level_ == Level::Groups) append(lines, finding_lines(size));
  lines.push_back({cut_to(state_line(), size.columns), Look::Loud});
  return lines;
}

// Shows the first findings, truncated to one line each. A single finding may use all lines.
std::vector<Line> View::finding_lines(Size size) const {
  std::vector<Line> lines;
  const auto& findings = shown_.findings;
  if (findings.empty() || size.lines < kFewestLines) return lines;
  const std::size_t most = size.lines < kManyLines ? kFindingLinesOfFew : kFindingLines;
  if (findings.size() == 1) {
    add_text(lines, wrapped("1 " + findings.front(), size.columns));
    if (lines.size() > most) {
      lines.resize(most);
      lines.back().text = folded(lines.back().text, size.columns - 2).front() + " …";
    }
  }
  for (std::size_t at = 0; findings.size() > 1 && at < std::min(findings.size(), most); ++at)
    lines.push_back({cut_to(std::to_string(at + 1) + " " + findings[at], size.columns)});
  return lines;
}

// Returns "held, 0:12 ago   processes by name, by score   history 2:13   A 20:30:55".
std::string View::state_line() const {
  std::string line = "now";
  const Sample* shown = history_->find(shown_.number);
  if (held_ && shown)
    line = "held, " +
           minutes(history_->newest().closed_ns -
                   std::min(shown->closed_ns, history_->newest().closed_ns)) +
           " ago";
  const std::string by = (order().by.empty() ? "score" : printable(order().by)) +
                         (order().is_reversed ? ", reversed" : "");
  if (level_ == Level::Groups) line += "   " + axis_word_of(axis()) + ", by " + by;
  if (level_ == Level::Threads)
    line += "   threads of " + shortened(told_name(readable_key(group_)), 30) + ", by " + by;
  if (level_ == Level::Thread && page_)
    line += "   thread " + std::to_string(page_->thread().tid) + " of process " +
            std::to_string(page_->thread().tgid);
  if (!filter_.empty()) line += "   filter " + printable(filter_);
  if (interval_ != kDefaultInterval) line += "   every " + interval_in_words(interval_ns());
  line += "   history " + minutes(history_->length_ns());
  if (history_->lacks_room()) line += " (--history is full)";
  if (a_) line += "   A " + clock_time(a_->closed_ns);
  if (b_) line += "   B " + clock_time(b_->closed_ns);
  return line;
}

// --- tables

// Scrolls so that the selected row is visible, and returns the first row of the table.
std::size_t View::first_row(std::size_t room) {
  room_ = std::max<std::size_t>(room, 1);
  Place& now = place();
  now.top = std::min(now.top, now.chosen);
  if (now.chosen >= now.top + room_) now.top = now.chosen - room_ + 1;
  const std::size_t last = rows_.size() - std::min(rows_.size(), room_);
  return now.top = std::min(now.top, last);
}

// Explains why a table is empty.
std::string View::no_rows() const {
  if (hidden_ > 0) return "kernel threads are hidden; K shows them";
  if (level_ == Level::Threads)
    return filter_.empty() ? "the group has no threads in this window"
                           : "no thread name contains that";
  return filter_.empty() ? "no group is active" : "no name of an active group contains that";
}

// REQUIRES: `lines` are a heading and the rows from `first` on.
void View::mark_table(std::vector<Line>& lines, std::size_t first, std::size_t count) {
  if (lines.empty()) return;
  lines.front().look = Look::Heading;
  if (const std::size_t at = place().chosen - first + 1; at < lines.size())
    lines[at].look = Look::Chosen;
  drawn_.first = first;
  drawn_.count = std::min(count, lines.size() - 1);
  drawn_.heading = lines.front().text;
}

std::vector<Line> View::group_table(Size size) {
  if (rows_.empty()) return {{no_rows(), Look::Faint}};
  // Two lines are for the heading of the table and for the note below it.
  const std::size_t room = size.lines - std::min<std::size_t>(size.lines, 2);
  const std::size_t first = first_row(room), count = std::min(rows_.size() - first, room_);
  const bool is_rearranged = !order().by.empty() || order().is_reversed || !filter_.empty();
  std::vector<ScreenRow> shown;
  for (std::size_t at = first; at < first + count; ++at) {
    shown.push_back(screen()->rows[rows_[at].at]);
    // Do not indent a row whose parent is not directly above it.
    if (is_rearranged || at == first) shown.back().depth = 0;
  }
  const ScreenTableText table = screen_table(*shown_.report, shown, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, table.text);
  mark_table(lines, first, count);
  std::vector<std::string> rest;
  if (rows_.size() > count) rest.push_back(counted(rows_.size() - count, "more row"));
  if (!table.gone.empty()) rest.push_back("for width " + joined(table.gone, " "));
  if (const std::size_t quiet = screen()->quiet_groups)
    rest.push_back(counted(quiet, "quiet group"));
  if (const auto kernel = screen()->quiet_kernel_threads)
    rest.push_back(counted(kernel, "quiet kernel thread"));
  if (hidden_ > 0) rest.push_back(counted(hidden_, "row") + " of kernel threads (K)");
  if (!rest.empty())
    lines.push_back({cut_to("not shown: " + joined(rest, ", "), size.columns), Look::Faint});
  return lines;
}

std::string View::column_text(std::size_t column, double figure) const {
  const ScreenColumn& its = screen()->columns[column];
  const bool is_percent = its.headline.shown == CTPROF_SHOWN_PERCENT;
  return brief(figure, is_percent ? "percent" : shown_.report->metrics()[its.metric].unit);
}

std::vector<Line> View::thread_table(Size size) {
  if (rows_.empty()) return {{no_rows(), Look::Faint}};
  const std::size_t room = size.lines - std::min<std::size_t>(size.lines, 1);
  const std::size_t first = first_row(room), count = std::min(rows_.size() - first, room_);
  std::vector<TextColumn> columns{{"thread", Align::Left, 8, false},
                                  {"tid", Align::Right, 0, false},
                                  {"state", Align::Left, 0, true}};
  std::vector<std::size_t> told;  // columns of the screen for which a thread has a value
  for (std::size_t at = 0; at < screen()->columns.size(); ++at)
    if (std::ranges::any_of(threads_,
                            [&](const ThreadRow& one) { return !std::isnan(one.figures[at]); })) {
      told.push_back(at);
      columns.push_back({printable(screen()->columns[at].headline.label), Align::Right, 0, true});
    }
  TextTable table(std::move(columns));
  for (std::size_t row = first; row < first + count; ++row) {
    const ThreadRow& thread = threads_[rows_[row].at];
    std::vector<TextCell> cells{{told_name(thread.name)}, {std::to_string(thread.id.tid)}};
    const char* end = thread.has_ended ? "exited" : thread.is_born ? "new" : "";
    cells.push_back({*end ? end : printable(thread.state)});
    for (const std::size_t at : told) cells.push_back({column_text(at, thread.figures[at])});
    table.add(std::move(cells));
  }
  std::string text;
  table.append_to(text, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, text);
  mark_table(lines, first, count);
  return lines;
}

}  // namespace ctprof::live
