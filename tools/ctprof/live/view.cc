#include "tools/ctprof/live/view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/render/findings_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof::live {
namespace {

constexpr std::array kAxes{GroupBy::Pcomm, GroupBy::Cgroup, GroupBy::Comm, GroupBy::Pid};
constexpr std::size_t kMaxFilterBytes = 100;  // bytes
constexpr std::int64_t kLargeStep = 20;       // windows
constexpr std::uint64_t kPageWindows = 40;    // length of a thread's history on its page

void append_utf8(std::string& text, Key key) {
  const auto put = [&](Key byte) { text += static_cast<char>(byte); };
  if (key < 0x80) return put(key);
  if (key < 0x800) return put(0xc0 | key >> 6), put(0x80 | (key & 0x3f));
  if (key < 0x10000)
    return put(0xe0 | key >> 12), put(0x80 | (key >> 6 & 0x3f)), put(0x80 | (key & 0x3f));
  put(0xf0 | key >> 18), put(0x80 | (key >> 12 & 0x3f)), put(0x80 | (key >> 6 & 0x3f)),
      put(0x80 | (key & 0x3f));
}

void drop_letter(std::string& text) {
  while (!text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

GroupBy View::axis() const { return kAxes[axis_]; }

std::uint64_t View::shown_number() const {
  if (history_->empty()) return 0;
  return paused_at_ ? *paused_at_ : history_->newest().number;
}

std::uint64_t View::interval_ns() const { return kIntervalsMs[interval_] * 1'000'000; }

std::optional<ThreadId> View::watched_thread() const {
  if (level_ != Level::Thread || !thread_page_) return std::nullopt;
  return thread_page_->thread();
}

void View::take(Key key) {
  message_.clear();
  is_typing_ ? edit_filter(key) : perform(find_action(key));
  refresh();
}

void View::on_new_window(std::optional<Snapshot> latest) {
  if (latest && shows_newest()) show_window(history_->newest().number, std::move(*latest));
  refresh();
}

void View::on_process_window(const Snapshot& window) {
  if (thread_page_ && !history_->empty())
    thread_page_->add_window(history_->newest().number, window);
}

// --- keys

void View::edit_filter(Key key) {
  if (key == live::to_key(SpecialKey::Enter)) {
    is_typing_ = false;
  } else if (key == live::to_key(SpecialKey::Escape)) {
    is_typing_ = false;
    filter_.clear();
  } else if (key == live::to_key(SpecialKey::Backspace)) {
    drop_letter(filter_);
  } else if (key >= live::to_key(SpecialKey::Up)) {
    perform(find_action(key));
  } else if (key >= U' ' && filter_.size() < kMaxFilterBytes) {
    append_utf8(filter_, key);
  }
}

void View::perform(Action action) {
  switch (action) {
    case Action::None:
    case Action::Redraw: return;
    case Action::Up: return move_selection(-1);
    case Action::Down: return move_selection(1);
    case Action::PageUp: return move_selection(-static_cast<std::ptrdiff_t>(visible_rows_));
    case Action::PageDown: return move_selection(static_cast<std::ptrdiff_t>(visible_rows_));
    case Action::First: return move_selection(-1'000'000'000);
    case Action::Last: return move_selection(1'000'000'000);
    case Action::Descend: return descend();
    case Action::Back: return go_back();
    case Action::Group:
      axis_ = (axis_ + 1) % kAxes.size();
      level_ = Level::Groups;
      position() = {};
      return;
    case Action::Sort: return next_sort();
    case Action::Reverse: return reverse();
    case Action::KernelThreads: return toggle_kernel_threads();
    case Action::Longer: return change_interval(1);
    case Action::Shorter: return change_interval(-1);
    case Action::Mouse: return toggle_mouse();
    case Action::Filter: is_typing_ = true; return;
    case Action::Pause: return pause();
    case Action::Earlier: return step_windows(-1);
    case Action::Later: return step_windows(1);
    case Action::MuchEarlier: return step_windows(-kLargeStep);
    case Action::MuchLater: return step_windows(kLargeStep);
    case Action::MarkA: return mark(mark_a_, "A");
    case Action::MarkB: return mark(mark_b_, "B");
    case Action::Compare: return compare();
    case Action::Write: return select_windows_to_write();
    case Action::Findings: return toggle(Overlay::Findings);
    case Action::Help: return toggle(Overlay::Help);
    case Action::Quit: should_quit_ = true; return;
  }
}

void View::descend() {
  if (overlay_ != Overlay::None || position().selected >= rows_.size()) return;
  const Row row = rows_[position().selected];
  position().id = row.id;
  position().is_selected_by_user = true;  // so that the user finds it again when going back
  if (level_ == Level::Groups) {
    group_ = row.id;
    level_ = Level::Threads;
  } else if (level_ == Level::Threads) {
    thread_page_.emplace(row.thread);
    level_ = Level::Thread;
    scroll_offset_ = 0;
  }
  if (level_ != Level::Thread) position() = {};
  filter_.clear();
}

void View::go_back() {
  if (overlay_ != Overlay::None) {
    overlay_ = Overlay::None;
  } else if (level_ == Level::Groups) {
    filter_.clear();
  } else {
    level_ = level_ == Level::Thread ? Level::Threads : Level::Groups;
    thread_page_.reset();
    filter_.clear();
  }
  scroll_offset_ = 0;
}

void View::toggle(Overlay overlay) {
  overlay_ = overlay_ == overlay ? Overlay::None : overlay;
  scroll_offset_ = 0;
}

void View::move_selection(std::ptrdiff_t by) {
  const auto clamp_position = [by](std::size_t from, std::size_t most) {
    const auto to = static_cast<std::ptrdiff_t>(from) + by;
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(most)));
  };
  if (overlay_ != Overlay::None || level_ == Level::Thread) {
    scroll_offset_ = clamp_position(scroll_offset_, max_scroll_offset_);
    return;
  }
  if (rows_.empty()) return;
  select_row(clamp_position(position().selected, rows_.size() - 1));
}

// The row stays selected when it moves.
void View::select_row(std::size_t row) {
  position().selected = row;
  position().id = rows_[row].id;
  position().is_selected_by_user = true;
}

void View::pause() {
  if (history_->empty()) return;
  paused_at_ = paused_at_ ? std::nullopt : std::optional(shown_number());
}

void View::toggle_kernel_threads() {
  hides_kernel_threads_ = !hides_kernel_threads_;
  message_ = hides_kernel_threads_ ? "kernel threads are hidden" : "kernel threads are shown";
}

void View::change_interval(int steps) {
  const auto next = static_cast<std::ptrdiff_t>(interval_) + steps;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(kIntervalsMs.size())) {
    message_ = "windows are at " + std::string(next < 0 ? "least " : "most ") +
               format_interval(interval_ns());
    return;
  }
  interval_ = static_cast<std::size_t>(next);
  message_ = "windows take " + format_interval(interval_ns()) + " from now on";
}

void View::step_windows(std::int64_t by) {
  if (history_->empty()) return;
  const auto oldest = static_cast<std::int64_t>(history_->oldest().number);
  const auto newest = static_cast<std::int64_t>(history_->newest().number);
  const std::int64_t to = static_cast<std::int64_t>(shown_number()) + by;
  if (to < oldest) message_ = "the history begins here";
  if (to > newest) message_ = "this is the newest window; press Space to follow new windows";
  paused_at_ = static_cast<std::uint64_t>(std::clamp(to, oldest, newest));
}

void View::mark(std::optional<Sample>& mark, const char* name) {
  const Sample* sample = history_->find(shown_number());
  if (!sample) return;
  mark = *sample;
  message_ = std::string("this window is ") + name;
}

void View::compare() {
  scroll_offset_ = 0;
  if (overlay_ == Overlay::Comparison) {
    overlay_ = Overlay::None;
  } else if (mark_a_ && mark_b_) {
    overlay_ = Overlay::Comparison;
  } else {
    message_ = "mark two windows first, one with a and one with b";
  }
}

// Selects all windows between the marks, or the shown window.
void View::select_windows_to_write() {
  if (history_->empty()) return;
  std::uint64_t first = shown_number(), last = first;
  if (mark_a_ && mark_b_) std::tie(first, last) = std::minmax(mark_a_->number, mark_b_->number);
  std::vector<Sample> samples;
  for (std::uint64_t at = first; at <= last; ++at) {
    const Sample* sample = history_->find(at);
    if (!sample) {
      message_ = "nothing was written: the history no longer contains the first mark";
      return;
    }
    samples.push_back(*sample);
  }
  windows_to_write_ = std::move(samples);
}

// --- the shown window

void View::refresh() {
  if (paused_at_ && !history_->empty() && *paused_at_ < history_->oldest().number) {
    paused_at_ = history_->oldest().number;
    message_ = "the history no longer contains earlier windows";
  }
  show_window();
  list_rows();
  if (level_ == Level::Thread) fill_thread_page();
}

void View::show_window() {
  const std::uint64_t wanted_number = shown_number();
  if (wanted_number == 0 || (shown_window_.number == wanted_number && shown_window_.axis == axis()))
    return;
  const Sample* sample = history_->find(wanted_number);
  if (!sample) return;
  if (shown_window_.number != wanted_number || !shown_window_.window) {
    auto window = reporter_->differences(*sample);
    if (window) return show_window(wanted_number, std::move(*window));
    shown_window_ = {wanted_number, axis(), {}, {}, window.error().text, {}};
  }
  make_report();
}

void View::show_window(std::uint64_t number, Snapshot window) {
  shown_window_ = {number, axis(), std::move(window), {}, {}, {}};
  make_report();
}

void View::make_report() {
  shown_window_.axis = axis();
  shown_window_.report.reset();
  shown_window_.findings.clear();
  if (!shown_window_.window) return;
  const Snapshot* windows[] = {&*shown_window_.window};
  auto report = reporter_->report(windows, axis());
  if (!report) return void(shown_window_.error_text = report.error().text);
  shown_window_.report.emplace(std::move(*report));
  for (const Finding& finding : find_causes(*shown_window_.report))
    shown_window_.findings.push_back(format_finding(finding));
}

// Adds the windows of the page that the history still contains.
void View::fill_thread_page() {
  if (!thread_page_) return;
  const std::uint64_t last = shown_number();
  for (std::uint64_t at = last - std::min(last, kPageWindows - 1); at <= last; ++at) {
    const Sample* sample = thread_page_->has_window(at) ? nullptr : history_->find(at);
    if (!sample) continue;
    if (at == shown_window_.number && shown_window_.window) {
      thread_page_->add_window(at, *shown_window_.window);
    } else if (auto window = reporter_->differences(*sample)) {
      thread_page_->add_window(at, *window);
    }
  }
}

}  // namespace ctprof::live
