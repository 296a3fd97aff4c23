// Scrollable pages of a view: help, findings, a thread, a comparison of two windows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "core/compare/grouping/grouping.hpp"
#include "core/render/findings_text.hpp"
#include "core/render/host_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"
#include "core/render/terminal_text.hpp"
#include "core/render/window_text.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/live/picture_text.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {
namespace {

constexpr std::size_t kHistoryColumns = 30, kNarrowHistory = 12, kWide = 100;
// Wider names and values are shortened in the middle.
constexpr std::size_t kWidestName = 32, kWidestValue = 24, kLeastDescription = 12;

struct FigureLine {
  std::string name, value, history, description;
};

std::string blanks(std::size_t width, std::string_view text) {
  return std::string(width - std::min(display_width(text), width), ' ');
}

// The description gets the remaining width and is truncated.
std::vector<std::string> figure_table(const std::vector<FigureLine>& table, std::size_t history,
                                      std::size_t width) {
  std::size_t name = 0, value = 0;
  for (const FigureLine& one : table) {
    name = std::min(std::max(name, display_width(one.name)), kWidestName);
    value = std::min(std::max(value, display_width(one.value)), kWidestValue);
  }
  const std::size_t taken = name + value + history + 3 * kColumnGap;
  std::vector<std::string> lines;
  for (const FigureLine& one : table) {
    const std::string metric = shortened(one.name, name), figure = shortened(one.value, value);
    std::string line = metric + blanks(name + kColumnGap, metric) + blanks(value, figure) + figure;
    if (width >= taken) line += "  " + one.history + blanks(history, one.history);
    if (width >= taken + kLeastDescription) line += "  " + cut_to(one.description, width - taken);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

// Returns as many lines as fit, from the scroll position on. The last line counts those below.
std::vector<Line> View::scrolled(std::vector<Line> lines, std::size_t room) {
  room_ = std::max<std::size_t>(room, 3) - 2;
  most_scroll_ = lines.size() - std::min(lines.size(), room);
  scroll_ = std::min(scroll_, most_scroll_);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(scroll_));
  if (lines.size() <= room || room == 0) return lines;
  lines.resize(room - 1);
  const std::size_t below = most_scroll_ - scroll_ + 1;
  lines.push_back({"-- " + counted(below, "more line") + ": Down, PgDn --", Look::Faint});
  return lines;
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

// Lists all findings in full. FILE in their commands represents a file of the window.
std::vector<Line> View::findings_page(Size size) const {
  std::vector<Line> lines{{"findings of this window, " + axis_word_of(axis()), Look::Heading}};
  const std::string files[] = {"FILE"};
  std::string text;
  if (screen())
    text = findings_text(*shown_.report, files, {.width = size.columns}, SIZE_MAX,
                         std::string(cli::kRecordWaits));
  if (text.empty()) {
    lines.push_back({"no findings in this window"});
  } else {
    add_text(lines, text);
    add_text(lines,
             wrapped("w writes this window to a file; its name replaces FILE.", size.columns),
             Look::Faint);
  }
  add_text(lines, wrapped("`ctprof help findings` lists the thresholds.", size.columns),
           Look::Faint);
  return lines;
}

// Returns "worker   state R   %CPU 14.8   %wait 86.3 ...", or an empty string if the thread has no
// row.
std::string View::thread_line() const {
  if (threads_.empty()) return {};
  const ThreadRow& thread = threads_.front();
  std::string line = told_name(thread.name);
  if (!thread.state.empty()) line += "   state " + printable(thread.state);
  for (std::size_t at = 0; at < screen()->columns.size(); ++at)
    if (!std::isnan(thread.figures[at]))
      line += "   " + printable(screen()->columns[at].headline.label) + " " +
              column_text(at, thread.figures[at]);
  return line;
}

std::vector<Line> View::thread_lines(Size size) {
  const std::vector<ThreadFigure> figures = page_->figures(shown_.number);
  if (figures.empty())
    return {{"this thread did not exist in this window; [ goes back", Look::Faint}};
  std::vector<Line> lines;
  if (const std::string line = thread_line(); !line.empty())
    lines.push_back({cut_to(line, size.columns), Look::Loud});
  for (const std::string& stack : page_->stacks(shown_.number, size.columns))
    if (filter_.empty() && lines.size() < size.lines / 3) lines.push_back({stack});
  const std::size_t history = size.columns >= kWide ? kHistoryColumns : kNarrowHistory;
  std::vector<FigureLine> table{{"metric", "in this window", "before", "description"}};
  for (const ThreadFigure& one : figures)
    if (is_kept(one.metric))
      table.push_back({(one.is_of_process ? "process: " : "") + told_name(one.metric), one.value,
                       page_->history(one.metric, shown_.number, history),
                       told_name(one.description, 200)});
  if (table.size() == 1) return {{"no metric name contains that", Look::Faint}};
  const std::size_t heading = lines.size();
  for (std::string& line : figure_table(table, history, size.columns))
    lines.push_back({std::move(line)});
  lines[heading].look = Look::Heading;
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
