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
constexpr std::string_view kThreadsWord = "threads", kTidWord = "tid", kStateWord = "state";

std::string to_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::size_t find_column(const Screen& screen, std::string_view label) {
  const auto it = std::ranges::find_if(
      screen.columns, [&](const ScreenColumn& one) { return one.headline.label == label; });
  return static_cast<std::size_t>(it - screen.columns.begin());
}

// The largest share of the machine that the thread uses.
double compute_score(const Screen& screen, const ThreadRow& thread) {
  double score = 0;
  for (std::size_t at = 0; at < screen.columns.size(); ++at) {
    const double share = std::abs(screen.columns[at].weight.share_of(thread.figures[at]));
    if (share > score) score = share;
  }
  return score;
}

bool is_kernel(const ScreenRow& row) {
  const ScreenThreads& threads = row.threads.back();
  return threads.total() > 0 && threads.kernel_threads == threads.total();
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
  if (const Screen* current_screen = screen())
    for (const ScreenColumn& column : current_screen->columns)
      words.push_back(column.headline.label);
  if (level_ == Level::Groups) return words.emplace_back(kThreadsWord), words;
  return words.insert(words.end(), {std::string(kTidWord), std::string(kStateWord)}), words;
}

bool View::can_sort() {
  const bool is_sortable = level_ != Level::Thread && overlay_ == Overlay::None;
  if (!is_sortable) message_ = "groups and threads can be sorted";
  return is_sortable;
}

void View::next_sort() {
  if (!can_sort()) return;
  const std::vector<std::string> words = sort_words();
  const auto current = std::ranges::find(words, order().key);
  const auto next = current == words.end() ? words.begin() : current + 1;
  order() = {next == words.end() ? words.front() : *next, false};
}

void View::reverse() {
  if (can_sort()) order().is_reversed = !order().is_reversed;
}

bool View::passes_filter(std::string_view name) const {
  return filter_.empty() || to_lower_case(name).find(to_lower_case(filter_)) != std::string::npos;
}

void View::list_rows() {
  rows_.clear();
  threads_.clear();
  hidden_rows_ = 0;
  if (!screen()) return;
  if (level_ == Level::Groups) list_groups();
  if (level_ == Level::Threads) list_threads();
  if (level_ == Level::Thread) return update_thread();
  Position& current_position = position();
  if (!current_position.is_selected_by_user) current_position.selected = 0;
  const auto same_row = std::ranges::find(rows_, current_position.id, &Row::id);
  if (current_position.is_selected_by_user && same_row != rows_.end())
    current_position.selected = static_cast<std::size_t>(same_row - rows_.begin());
  current_position.selected =
      rows_.empty() ? 0 : std::min(current_position.selected, rows_.size() - 1);
}

void View::list_groups() {
  const Screen& current_screen = *screen();
  const auto& names = shown_window_.report->grouping().names;
  for (std::size_t at = 0; at < current_screen.rows.size(); ++at) {
    const std::string& name = names[current_screen.rows[at].group];
    if (!passes_filter(readable_key(name))) continue;
    if (hides_kernel_threads_ && is_kernel(current_screen.rows[at]))
      ++hidden_rows_;
    else
      rows_.push_back({.id = name, .thread = {}, .at = at});
  }
  order_groups();
}

void View::order_groups() {
  const Screen& current_screen = *screen();
  const bool is_reversed = order().is_reversed;
  const std::size_t column = find_column(current_screen, order().key);
  if (order().key == kByName)
    return order_by_text(rows_, is_reversed, [](const Row& row) { return row.id; });
  if (order().key == kThreadsWord)
    return order_by_figure(rows_, is_reversed, [&](const Row& row) {
      return current_screen.rows[row.at].threads.back().total();
    });
  if (column < current_screen.columns.size())
    return order_by_figure(rows_, is_reversed, [&](const Row& row) {
      return current_screen.figures(current_screen.rows[row.at], column)[0].value;
    });
  if (is_reversed) std::reverse(rows_.begin(), rows_.end());
}

void View::list_threads() {
  threads_ = reporter_->threads(*shown_window_.window, *shown_window_.report, axis(), group_);
  for (std::size_t at = 0; at < threads_.size(); ++at) {
    const ThreadRow& thread = threads_[at];
    if (!passes_filter(thread.name)) continue;
    if (hides_kernel_threads_ && thread.is_kernel)
      ++hidden_rows_;
    else
      rows_.push_back({.id = std::to_string(thread.id.tid) + " " + std::to_string(thread.id.start),
                       .thread = thread.id,
                       .at = at});
  }
  std::ranges::stable_sort(rows_, {}, [&](const Row& row) { return threads_[row.at].id; });
  order_threads();
}

void View::update_thread() {
  if (!thread_page_) return;
  threads_ = reporter_->threads(*shown_window_.window, *shown_window_.report, axis(), group_);
  std::erase_if(threads_, [&](const ThreadRow& one) { return one.id != thread_page_->thread(); });
}

void View::order_threads() {
  const Screen& current_screen = *screen();
  const bool is_reversed = order().is_reversed;
  const std::string& key = order().key;
  const std::size_t column = find_column(current_screen, key);
  const auto thread = [&](const Row& row) -> const ThreadRow& { return threads_[row.at]; };
  if (key == kByName || key == kStateWord)
    return order_by_text(rows_, is_reversed, [&, is_name = key == kByName](const Row& row) {
      return is_name ? thread(row).name : thread(row).state;
    });
  if (key == kTidWord)
    return order_by_figure(rows_, is_reversed,
                           [&](const Row& row) { return static_cast<double>(thread(row).id.tid); });
  order_by_figure(rows_, is_reversed, [&, column](const Row& row) {
    return column < current_screen.columns.size() ? thread(row).figures[column]
                                                  : compute_score(current_screen, thread(row));
  });
}

}  // namespace ctprof::live
