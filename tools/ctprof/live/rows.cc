// The rows of a view: the groups and threads that are listed, and their order.

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {
namespace {

// Sort words besides the labels of the screen's columns.
constexpr std::string_view kByThreads = "threads", kByTid = "tid", kByState = "state";

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::size_t column_of(const Screen& screen, std::string_view label) {
  const auto it = std::ranges::find_if(
      screen.columns, [&](const ScreenColumn& one) { return one.headline.label == label; });
  return static_cast<std::size_t>(it - screen.columns.begin());
}

// The largest share of the machine that the thread uses.
double score_of(const Screen& screen, const ThreadRow& thread) {
  double score = 0;
  for (std::size_t at = 0; at < screen.columns.size(); ++at) {
    const double share = std::abs(screen.columns[at].weight.share_of(thread.figures[at]));
    if (share > score) score = share;
  }
  return score;
}

bool is_kernel(const ScreenRow& row) {
  const ScreenThreads& threads = row.threads.back();
  return threads.all() > 0 && threads.kernel == threads.all();
}

// Rows without a value are last in both orders.
template <class Rows, class FigureOf>
void order_by_figure(Rows& rows, bool is_reversed, FigureOf figure_of) {
  std::ranges::stable_sort(rows, {}, [&](const auto& row) {
    const double figure = std::abs(figure_of(row));
    return std::isnan(figure) ? std::pair(true, 0.0)
                              : std::pair(false, is_reversed ? figure : -figure);
  });
}

template <class Rows, class TextOf>
void order_by_text(Rows& rows, bool is_reversed, TextOf text_of) {
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
    return is_reversed ? text_of(b) < text_of(a) : text_of(a) < text_of(b);
  });
}

}  // namespace

std::vector<std::string> View::sort_words() const {
  std::vector<std::string> words{"", std::string(kByName)};
  if (const Screen* found = screen())
    for (const ScreenColumn& column : found->columns) words.push_back(column.headline.label);
  if (level_ == Level::Groups) return words.emplace_back(kByThreads), words;
  return words.insert(words.end(), {std::string(kByTid), std::string(kByState)}), words;
}

bool View::can_sort() {
  const bool can = level_ != Level::Thread && over_ == Over::Nothing;
  if (!can) message_ = "groups and threads can be sorted";
  return can;
}

void View::next_sort() {
  if (!can_sort()) return;
  const std::vector<std::string> words = sort_words();
  const auto now = std::ranges::find(words, order().by);
  const auto next = now == words.end() ? words.begin() : now + 1;
  order() = {next == words.end() ? words.front() : *next, false};
}

void View::reverse() {
  if (can_sort()) order().is_reversed = !order().is_reversed;
}

bool View::is_kept(std::string_view name) const {
  return filter_.empty() || in_lower_case(name).find(in_lower_case(filter_)) != std::string::npos;
}

void View::find_rows() {
  rows_.clear();
  threads_.clear();
  hidden_ = 0;
  if (!screen()) return;
  if (level_ == Level::Groups) find_groups();
  if (level_ == Level::Threads) find_threads();
  if (level_ == Level::Thread) return find_thread();
  Place& now = place();
  if (!now.is_moved) now.chosen = 0;
  const auto same = std::ranges::find(rows_, now.id, &Row::id);
  if (now.is_moved && same != rows_.end())
    now.chosen = static_cast<std::size_t>(same - rows_.begin());
  now.chosen = rows_.empty() ? 0 : std::min(now.chosen, rows_.size() - 1);
}

void View::find_groups() {
  const Screen& found = *screen();
  const auto& names = shown_.report->grouping().names;
  for (std::size_t at = 0; at < found.rows.size(); ++at) {
    const std::string& name = names[found.rows[at].group];
    if (!is_kept(readable_key(name))) continue;
    if (hides_kernel_threads_ && is_kernel(found.rows[at]))
      ++hidden_;
    else
      rows_.push_back({.id = name, .thread = {}, .at = at});
  }
  order_groups();
}

void View::order_groups() {
  const Screen& found = *screen();
  const bool is_reversed = order().is_reversed;
  const std::size_t column = column_of(found, order().by);
  if (order().by == kByName)
    return order_by_text(rows_, is_reversed, [](const Row& row) { return row.id; });
  if (order().by == kByThreads)
    return order_by_figure(rows_, is_reversed,
                           [&](const Row& row) { return found.rows[row.at].threads.back().all(); });
  if (column < found.columns.size())
    return order_by_figure(rows_, is_reversed, [&](const Row& row) {
      return found.figures(found.rows[row.at], column)[0].value;
    });
  if (is_reversed) std::reverse(rows_.begin(), rows_.end());
}

void View::find_threads() {
  threads_ = teller_->threads(*shown_.window, *shown_.report, axis(), group_);
  for (std::size_t at = 0; at < threads_.size(); ++at) {
    const ThreadRow& thread = threads_[at];
    if (!is_kept(thread.name)) continue;
    if (hides_kernel_threads_ && thread.is_kernel)
      ++hidden_;
    else
      rows_.push_back({.id = std::to_string(thread.id.tid) + " " + std::to_string(thread.id.start),
                       .thread = thread.id,
                       .at = at});
  }
  std::ranges::stable_sort(rows_, {}, [&](const Row& row) { return threads_[row.at].id; });
  order_threads();
}

void View::find_thread() {
  if (!page_) return;
  threads_ = teller_->threads(*shown_.window, *shown_.report, axis(), group_);
  std::erase_if(threads_, [&](const ThreadRow& one) { return one.id != page_->thread(); });
}

void View::order_threads() {
  const Screen& found = *screen();
  const bool is_reversed = order().is_reversed;
  const std::string& by = order().by;
  const std::size_t column = column_of(found, by);
  const auto thread = [&](const Row& row) -> const ThreadRow& { return threads_[row.at]; };
  if (by == kByName || by == kByState)
    return order_by_text(rows_, is_reversed, [&, is_name = by == kByName](const Row& row) {
      return is_name ? thread(row).name : thread(row).state;
    });
  if (by == kByTid)
    return order_by_figure(rows_, is_reversed,
                           [&](const Row& row) { return static_cast<double>(thread(row).id.tid); });
  order_by_figure(rows_, is_reversed, [&, column](const Row& row) {
    return column < found.columns.size() ? thread(row).figures[column]
                                         : score_of(found, thread(row));
  });
}

}  // namespace ctprof::live
