// Pictures of a view: lines of text for a terminal of that size.

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/render/host_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"
#include "core/render/terminal_text.hpp"
#include "core/render/window_text.hpp"
#include "tools/ctprof/live/heading.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {
namespace {

constexpr std::size_t kHistoryColumns = 30, kNarrowHistory = 12, kWide = 100;

// "20:31:05"
std::string clock_time(std::uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

// "9:59"
std::string minutes(std::uint64_t ns) {
  const std::uint64_t seconds = (ns + 500'000'000) / 1'000'000'000;
  const std::string rest = std::to_string(seconds % 60);
  return std::to_string(seconds / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

std::string axis_word_of(GroupBy axis) {
  switch (axis) {
    case GroupBy::Pcomm: return "processes by name";
    case GroupBy::Cgroup: return "cgroups";
    case GroupBy::Comm: return "threads by name";
    case GroupBy::Pid: return "each process";
    default: return "groups";
  }
}

void add_text(std::vector<Line>& lines, std::string_view text, Look look = Look::Plain) {
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.push_back({std::string(line), look});
}

void append(std::vector<Line>& to, std::vector<Line> more) {
  std::ranges::move(more, std::back_inserter(to));
}

}  // namespace

std::string interval_in_words(std::uint64_t ns) {
  const std::uint64_t tenths = ns / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
         " s";
}

std::vector<Line> View::picture(Size size) {
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
  if (history_->empty()) return {{"the first window takes a second ...", Look::Plain}};
  if (over_ == Over::Comparison) return comparison(size);
  std::vector<Line> lines = head(size);
  if (lines.size() >= size.lines) return lines;
  const Size left{size.lines - lines.size(), size.columns};
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
  lines.push_back({shortened(state_line(), size.columns), Look::Loud});
  return lines;
}

// "held, 0:12 ago   processes by name, by score   history 2:13   A 20:30:55"
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

std::vector<Line> View::help_lines(Size size) {
  std::vector<Line> lines{{"ctprof live: the last window of this host", Look::Heading}};
  for (const KeyInfo& one : keys()) {
    std::string name = "  " + std::string(one.shown);
    name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
    bool is_first = true;
    for (const std::string& piece : folded(one.help, size.columns - name.size())) {
      lines.push_back({is_first ? name + piece : std::string(name.size(), ' ') + piece});
      is_first = false;
    }
  }
  return lines;
}

// --- tables

// So many of the lines as there is room for, from where somebody scrolled to.
std::vector<Line> View::scrolled(std::vector<Line> lines, std::size_t room) {
  room_ = std::max<std::size_t>(room, 2) - 1;
  most_scroll_ = lines.size() - std::min(lines.size(), room);
  scroll_ = std::min(scroll_, most_scroll_);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(scroll_));
  if (lines.size() > room) lines.resize(room);
  return lines;
}

// The row that the table begins with, so that the chosen one is in it.
std::size_t View::first_row(std::size_t room) {
  room_ = std::max<std::size_t>(room, 1);
  Place& now = place();
  now.top = std::min(now.top, now.chosen);
  if (now.chosen >= now.top + room_) now.top = now.chosen - room_ + 1;
  const std::size_t last = rows_.size() - std::min(rows_.size(), room_);
  return now.top = std::min(now.top, last);
}

// Why a table is empty.
std::string View::no_rows() const {
  if (hidden_ > 0) return "kernel threads are hidden; K shows them";
  if (level_ == Level::Threads)
    return filter_.empty() ? "the group has no threads in this window"
                           : "no thread name contains that";
  return filter_.empty() ? "all is quiet" : "no group that does something has that in its name";
}

std::vector<Line> View::group_table(Size size) {
  if (rows_.empty()) return {{no_rows(), Look::Faint}};
  // The head of the table, and what is said below.
  const std::size_t room = size.lines - std::min<std::size_t>(size.lines, 2);
  const std::size_t first = first_row(room), count = std::min(rows_.size() - first, room_);
  const bool is_rearranged = !order().by.empty() || order().is_reversed || !filter_.empty();
  std::vector<ScreenRow> shown;
  for (std::size_t at = first; at < first + count; ++at) {
    shown.push_back(screen()->rows[rows_[at].at]);
    if (is_rearranged || at == first) shown.back().depth = 0;  // its parent is not above it
  }
  const ScreenTableText table = screen_table(*shown_.report, shown, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, table.text);
  if (!lines.empty()) lines.front().look = Look::Heading;
  if (const std::size_t at = place().chosen - first + 1; at < lines.size())
    lines[at].look = Look::Chosen;
  std::vector<std::string> rest;
  if (rows_.size() > count) rest.push_back(counted(rows_.size() - count, "more row"));
  if (!table.gone.empty()) rest.push_back("for width " + joined(table.gone, " "));
  if (const std::size_t quiet = screen()->quiet_groups)
    rest.push_back(counted(quiet, "quiet group"));
  if (const auto kernel = screen()->quiet_kernel_threads)
    rest.push_back(counted(kernel, "quiet kernel thread"));
  if (hidden_ > 0) rest.push_back(counted(hidden_, "row") + " of kernel threads (K)");
  if (!rest.empty())
    lines.push_back(
        {folded("not shown: " + joined(rest, ", "), size.columns).front(), Look::Faint});
  return lines;
}

std::vector<Line> View::thread_table(Size size) {
  if (rows_.empty()) return {{no_rows(), Look::Faint}};
  const std::size_t room = size.lines - std::min<std::size_t>(size.lines, 1);
  const std::size_t first = first_row(room), count = std::min(rows_.size() - first, room_);
  std::vector<TextColumn> columns{{"thread", Align::Left, 8, false},
                                  {"tid", Align::Right, 0, false},
                                  {"state", Align::Left, 0, true}};
  std::vector<std::size_t> told;  // columns of the screen that threads have
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
    for (const std::size_t at : told) {
      const bool is_percent = screen()->columns[at].headline.shown == CTPROF_SHOWN_PERCENT;
      const auto& metric = shown_.report->metrics()[screen()->columns[at].metric];
      cells.push_back({brief(thread.figures[at], is_percent ? "percent" : metric.unit)});
    }
    table.add(std::move(cells));
  }
  std::string text;
  table.append_to(text, {.width = size.columns});
  std::vector<Line> lines;
  add_text(lines, text);
  if (!lines.empty()) lines.front().look = Look::Heading;
  if (const std::size_t at = place().chosen - first + 1; at < lines.size())
    lines[at].look = Look::Chosen;
  return lines;
}

std::vector<Line> View::thread_lines(Size size) {
  const std::vector<ThreadFigure> figures = page_->figures(shown_.number);
  if (figures.empty())
    return {{"this thread did not exist in this window; [ goes back", Look::Faint}};
  const std::size_t history = size.columns >= kWide ? kHistoryColumns : kNarrowHistory;
  TextTable table({{"metric", Align::Left, 12, false},
                   {"in this window", Align::Right, 12, false},
                   {"before", Align::Left, 0, false},
                   {"what it is", Align::Left, 20, true}});
  bool any = false;
  for (const ThreadFigure& one : figures) {
    if (!is_kept(one.metric)) continue;
    any = true;
    table.add({{(one.is_of_process ? "process: " : "") + told_name(one.metric)},
               {one.value},
               {page_->history(one.metric, shown_.number, history)},
               {told_name(one.description, 200)}});
  }
  std::vector<Line> lines;
  for (const std::string& stack : page_->stacks(shown_.number, size.columns))
    if (filter_.empty() && lines.size() < size.lines / 3) lines.push_back({stack});
  if (!any) return {{"no metric has that in its name", Look::Faint}};
  std::string text;
  table.append_to(text, {.width = size.columns});
  std::vector<Line> metrics;
  add_text(metrics, text);
  if (!metrics.empty()) metrics.front().look = Look::Heading;
  append(lines, std::move(metrics));
  return lines;
}

std::vector<Line> View::comparison(Size size) {
  if (compared_.a != a_->number || compared_.b != b_->number || compared_.axis != axis()) {
    compared_ = {a_->number, b_->number, axis(), {}, {}};
    const auto a = teller_->differences(*a_), b = teller_->differences(*b_);
    if (!a || !b) {
      compared_.trouble = a ? b.error().text : a.error().text;
    } else {
      const Snapshot* windows[] = {&*a, &*b};
      auto report = teller_->report(windows, axis());
      report ? void(compared_.report.emplace(std::move(*report)))
             : void(compared_.trouble = report.error().text);
    }
  }
  std::vector<Line> lines{{shortened("A compared with B, " + axis_word_of(axis()) +
                                         (filter_.empty() ? "" : ", filter " + printable(filter_)),
                                     size.columns),
                           Look::Loud}};
  if (!compared_.report || !compared_.report->screen()) {
    add_text(lines, wrapped(printable(compared_.trouble), size.columns), Look::Loud);
    return lines;
  }
  const Report& report = *compared_.report;
  for (std::size_t side = 0; side < 2; ++side)
    add_text(lines,
             window_opening(report.sides()[side], side == 0 ? "A" : "B",
                            clock_time((side == 0 ? a_ : b_)->closed_ns), {.width = size.columns}));
  add_text(lines, host_line(report.sides(), size.columns));
  std::vector<ScreenRow> shown;
  for (const ScreenRow& row : report.screen()->rows)
    if (is_kept(readable_key(report.grouping().names[row.group]))) {
      shown.push_back(row);
      if (!filter_.empty()) shown.back().depth = 0;
    }
  const std::size_t head = std::min(lines.size(), size.lines / 2);
  lines.resize(head);
  const ScreenTableText table = screen_table(report, shown, {.width = size.columns});
  std::vector<Line> rows;
  add_text(rows, table.text);
  if (rows.empty())
    rows.push_back({"no notable differences", Look::Faint});
  else
    rows.front().look = Look::Heading;
  append(lines, scrolled(std::move(rows), size.lines - head));
  return lines;
}

}  // namespace ctprof::live
