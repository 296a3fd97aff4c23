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
#include "tools/ctprof/live/view.hpp"
#include "tools/ctprof/live/view_text.hpp"

namespace ctprof::live {
namespace {

constexpr std::size_t kHistoryColumns = 30, kNarrowHistory = 12, kWideColumns = 100;
// Wider names and values are shortened in the middle.
constexpr std::size_t kWidestName = 32, kWidestValue = 24, kLeastDescription = 12;

struct FigureLine {
  std::string name, value, history, description;
};

std::string pad(std::size_t width, std::string_view text) {
  return std::string(width - std::min(get_display_width(text), width), ' ');
}

// The description gets the remaining width and is truncated.
std::vector<std::string> figure_table(const std::vector<FigureLine>& table, std::size_t history,
                                      std::size_t width) {
  std::size_t name = 0, value = 0;
  for (const FigureLine& figure_line : table) {
    name = std::min(std::max(name, get_display_width(figure_line.name)), kWidestName);
    value = std::min(std::max(value, get_display_width(figure_line.value)), kWidestValue);
  }
  const std::size_t used_width = name + value + history + 3 * kColumnGap;
  std::vector<std::string> lines;
  for (const FigureLine& figure_line : table) {
    const std::string metric = shorten(figure_line.name, name),
                      figure = shorten(figure_line.value, value);
    std::string line = metric + pad(name + kColumnGap, metric) + pad(value, figure) + figure;
    if (width >= used_width) line += "  " + figure_line.history + pad(history, figure_line.history);
    if (width >= used_width + kLeastDescription)
      line += "  " + truncate_text(figure_line.description, width - used_width);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

// Returns as many lines as fit, from the scroll position on. The last line counts those below.
std::vector<Line> View::scroll_lines(std::vector<Line> lines, std::size_t available_lines) {
  visible_rows_ = std::max<std::size_t>(available_lines, 3) - 2;
  max_scroll_offset_ = lines.size() - std::min(lines.size(), available_lines);
  scroll_offset_ = std::min(scroll_offset_, max_scroll_offset_);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(scroll_offset_));
  if (lines.size() <= available_lines || available_lines == 0) return lines;
  lines.resize(available_lines - 1);
  const std::size_t below = max_scroll_offset_ - scroll_offset_ + 1;
  lines.push_back({"-- " + format_count(below, "more line") + ": Down, PgDn --", LineStyle::Dim});
  return lines;
}

std::vector<Line> View::help_lines(Size size) {
  std::vector<Line> lines{{"ctprof live: the last window of this host", LineStyle::Heading}};
  for (const KeyInfo& key_info : key_table()) {
    std::string name = "  " + std::string(key_info.label);
    name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
    bool is_first = true;
    for (const std::string& piece : fold(key_info.help, size.columns - name.size())) {
      lines.push_back({is_first ? name + piece : std::string(name.size(), ' ') + piece});
      is_first = false;
    }
  }
  return lines;
}

// Lists all findings in full. FILE in their commands represents a file of the window.
std::vector<Line> View::findings_page(Size size) const {
  std::vector<Line> lines{{"findings of this window, " + axis_label(axis()), LineStyle::Heading}};
  const std::string files[] = {"FILE"};
  std::string text;
  if (screen())
    text =
        format_findings(*shown_window_.report,
                        {.files = files, .record_command = std::string(cli::kRecordWaitsCommand)},
                        {.width = size.columns}, SIZE_MAX);
  if (text.empty()) {
    lines.push_back({"no findings in this window"});
  } else {
    add_text(lines, text);
    add_text(lines,
             wrap_words("w writes this window to a file; replace FILE by its name.", size.columns),
             LineStyle::Dim);
  }
  add_text(lines, wrap_words("`ctprof help findings` lists the thresholds.", size.columns),
           LineStyle::Dim);
  return lines;
}

// Returns "worker   state R   %CPU 14.8   %wait 86.3 ...", or an empty string if the thread has no
// row.
std::string View::thread_line() const {
  if (threads_.empty()) return {};
  const ThreadRow& thread = threads_.front();
  std::string line = make_printable_short(thread.name);
  if (!thread.state.empty()) line += "   state " + make_printable(thread.state);
  for (std::size_t at = 0; at < screen()->columns.size(); ++at)
    if (!std::isnan(thread.figures[at]))
      line += "   " + make_printable(screen()->columns[at].headline.label) + " " +
              column_text(at, thread.figures[at]);
  return line;
}

std::vector<Line> View::thread_lines(Size size) {
  const std::vector<ThreadFigure> figures = thread_page_->figures(shown_window_.number);
  if (figures.empty())
    return {{"this thread did not exist in this window; press [ for the previous window",
             LineStyle::Dim}};
  std::vector<Line> lines;
  if (const std::string line = thread_line(); !line.empty())
    lines.push_back({truncate_text(line, size.columns), LineStyle::Bold});
  for (const std::string& stack : thread_page_->stacks(shown_window_.number, size.columns))
    if (filter_.empty() && lines.size() < size.lines / 3) lines.push_back({stack});
  const std::size_t history = size.columns >= kWideColumns ? kHistoryColumns : kNarrowHistory;
  std::vector<FigureLine> table{{"metric", "in this window", "before", "description"}};
  for (const ThreadFigure& figure : figures)
    if (passes_filter(figure.metric))
      table.push_back(
          {(figure.is_of_process ? "process: " : "") + make_printable_short(figure.metric),
           figure.value, thread_page_->history(figure.metric, shown_window_.number, history),
           make_printable_short(figure.description, 200)});
  if (table.size() == 1) return {{"no metric name contains the filter text", LineStyle::Dim}};
  const std::size_t heading = lines.size();
  for (std::string& line : figure_table(table, history, size.columns))
    lines.push_back({std::move(line)});
  lines[heading].style = LineStyle::Heading;
  return lines;
}

std::vector<Line> View::comparison(Size size) {
  if (compared_windows_.a != mark_a_->number || compared_windows_.b != mark_b_->number ||
      compared_windows_.axis != axis()) {
    compared_windows_ = {mark_a_->number, mark_b_->number, axis(), {}, {}};
    const auto a = reporter_->differences(*mark_a_), b = reporter_->differences(*mark_b_);
    if (!a || !b) {
      compared_windows_.error_text = a ? b.error().text : a.error().text;
    } else {
      const Snapshot* windows[] = {&*a, &*b};
      auto report = reporter_->report(windows, axis());
      report ? void(compared_windows_.report.emplace(std::move(*report)))
             : void(compared_windows_.error_text = report.error().text);
    }
  }
  std::vector<Line> lines{
      {shorten("A compared with B, " + axis_label(axis()) +
                   (filter_.empty() ? "" : ", filter " + make_printable(filter_)),
               size.columns),
       LineStyle::Bold}};
  if (!compared_windows_.report || !compared_windows_.report->screen()) {
    add_text(lines, wrap_words(make_printable(compared_windows_.error_text), size.columns),
             LineStyle::Bold);
    return lines;
  }
  const Report& report = *compared_windows_.report;
  for (std::size_t side = 0; side < 2; ++side)
    add_text(lines,
             format_window_opening(report.sides()[side], side == 0 ? "A" : "B",
                                   format_clock_time((side == 0 ? mark_a_ : mark_b_)->closed_ns),
                                   {.width = size.columns}));
  add_text(lines, format_host_load(report.sides(), size.columns));
  std::vector<ScreenRow> shown;
  for (const ScreenRow& row : report.screen()->rows)
    if (passes_filter(readable_key(report.grouping().names[row.group]))) {
      shown.push_back(row);
      if (!filter_.empty()) shown.back().depth = 0;
    }
  const std::size_t head = std::min(lines.size(), size.lines / 2);
  lines.resize(head);
  const ScreenTableText table = format_screen_table(report, shown, {.width = size.columns});
  std::vector<Line> rows;
  add_text(rows, table.text);
  if (rows.empty())
    rows.push_back({"no notable differences", LineStyle::Dim});
  else
    rows.front().style = LineStyle::Heading;
  append_lines(lines, scroll_lines(std::move(rows), size.lines - head));
  return lines;
}

}  // namespace ctprof::live
