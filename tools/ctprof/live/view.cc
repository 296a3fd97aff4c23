#include "tools/ctprof/live/view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/render/findings_text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof::live {
namespace {

constexpr std::array kAxes{GroupBy::Pcomm, GroupBy::Cgroup, GroupBy::Comm, GroupBy::Pid};
constexpr std::size_t kMostFilter = 100;    // bytes
constexpr std::int64_t kMuch = 20;          // windows
constexpr std::uint64_t kPageWindows = 40;  // length of a thread's history on its page

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

std::uint64_t View::number() const {
  if (history_->empty()) return 0;
  return held_ ? *held_ : history_->newest().number;
}

std::uint64_t View::interval_ns() const { return kIntervalsMs[interval_] * 1'000'000; }

std::optional<ThreadId> View::watched() const {
  if (level_ != Level::Thread || !page_) return std::nullopt;
  return page_->thread();
}

void View::take(Key key) {
  message_.clear();
  is_typing_ ? type(key) : act(deed_of(key));
  refresh();
}

void View::take_window(std::optional<Snapshot> latest) {
  if (latest && follows()) show(history_->newest().number, std::move(*latest));
  refresh();
}

void View::take_process(const Snapshot& window) {
  if (page_ && !history_->empty()) page_->take(history_->newest().number, window);
}

// --- keys

void View::type(Key key) {
  if (key == live::key(Special::Enter)) {
    is_typing_ = false;
  } else if (key == live::key(Special::Escape)) {
    is_typing_ = false;
    filter_.clear();
  } else if (key == live::key(Special::Backspace)) {
    drop_letter(filter_);
  } else if (key >= live::key(Special::Up)) {
    act(deed_of(key));
  } else if (key >= U' ' && filter_.size() < kMostFilter) {
    append_utf8(filter_, key);
  }
}

void View::act(Deed deed) {
  switch (deed) {
    case Deed::None:
    case Deed::Redraw: return;
    case Deed::Up: return move(-1);
    case Deed::Down: return move(1);
    case Deed::PageUp: return move(-static_cast<std::ptrdiff_t>(room_));
    case Deed::PageDown: return move(static_cast<std::ptrdiff_t>(room_));
    case Deed::First: return move(-1'000'000'000);
    case Deed::Last: return move(1'000'000'000);
    case Deed::Descend: return descend();
    case Deed::Back: return back();
    case Deed::Group:
      axis_ = (axis_ + 1) % kAxes.size();
      level_ = Level::Groups;
      place() = {};
      return;
    case Deed::Sort: return next_sort();
    case Deed::Reverse: return reverse();
    case Deed::KernelThreads: return toggle_kernel_threads();
    case Deed::Longer: return change_interval(1);
    case Deed::Shorter: return change_interval(-1);
    case Deed::Mouse: return toggle_mouse();
    case Deed::Filter: is_typing_ = true; return;
    case Deed::Pause: return pause();
    case Deed::Earlier: return step(-1);
    case Deed::Later: return step(1);
    case Deed::MuchEarlier: return step(-kMuch);
    case Deed::MuchLater: return step(kMuch);
    case Deed::MarkA: return mark(a_, "A");
    case Deed::MarkB: return mark(b_, "B");
    case Deed::Compare: return compare();
    case Deed::Write: return want();
    case Deed::Findings: return toggle(Over::Findings);
    case Deed::Help: return toggle(Over::Help);
    case Deed::Quit: quits_ = true; return;
  }
}

void View::descend() {
  if (over_ != Over::Nothing || place().chosen >= rows_.size()) return;
  const Row row = rows_[place().chosen];
  place().id = row.id;
  place().is_moved = true;  // so that the user finds it again when going back
  if (level_ == Level::Groups) {
    group_ = row.id;
    level_ = Level::Threads;
  } else if (level_ == Level::Threads) {
    page_.emplace(row.thread);
    level_ = Level::Thread;
    scroll_ = 0;
  }
  if (level_ != Level::Thread) place() = {};
  filter_.clear();
}

void View::back() {
  if (over_ != Over::Nothing) {
    over_ = Over::Nothing;
  } else if (level_ == Level::Groups) {
    filter_.clear();
  } else {
    level_ = level_ == Level::Thread ? Level::Threads : Level::Groups;
    page_.reset();
    filter_.clear();
  }
  scroll_ = 0;
}

void View::toggle(Over over) {
  over_ = over_ == over ? Over::Nothing : over;
  scroll_ = 0;
}

void View::move(std::ptrdiff_t by) {
  const auto moved = [by](std::size_t from, std::size_t most) {
    const auto to = static_cast<std::ptrdiff_t>(from) + by;
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(most)));
  };
  if (over_ != Over::Nothing || level_ == Level::Thread) {
    scroll_ = moved(scroll_, most_scroll_);
    return;
  }
  if (rows_.empty()) return;
  choose(moved(place().chosen, rows_.size() - 1));
}

// The row stays selected when it moves.
void View::choose(std::size_t row) {
  place().chosen = row;
  place().id = rows_[row].id;
  place().is_moved = true;
}

void View::pause() {
  if (history_->empty()) return;
  held_ = held_ ? std::nullopt : std::optional(number());
}

void View::toggle_kernel_threads() {
  hides_kernel_threads_ = !hides_kernel_threads_;
  message_ = hides_kernel_threads_ ? "kernel threads are hidden" : "kernel threads are shown";
}

void View::change_interval(int steps) {
  const auto next = static_cast<std::ptrdiff_t>(interval_) + steps;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(kIntervalsMs.size())) {
    message_ = "windows are at " + std::string(next < 0 ? "least " : "most ") +
               interval_in_words(interval_ns());
    return;
  }
  interval_ = static_cast<std::size_t>(next);
  message_ = "windows take " + interval_in_words(interval_ns()) + " from now on";
}

void View::step(std::int64_t by) {
  if (history_->empty()) return;
  const auto oldest = static_cast<std::int64_t>(history_->oldest().number);
  const auto newest = static_cast<std::int64_t>(history_->newest().number);
  const std::int64_t to = static_cast<std::int64_t>(number()) + by;
  if (to < oldest) message_ = "the history begins here";
  if (to > newest) message_ = "this is the newest window; Space continues";
  held_ = static_cast<std::uint64_t>(std::clamp(to, oldest, newest));
}

void View::mark(std::optional<Sample>& mark, const char* name) {
  const Sample* sample = history_->find(number());
  if (!sample) return;
  mark = *sample;
  message_ = std::string("this window is ") + name;
}

void View::compare() {
  scroll_ = 0;
  if (over_ == Over::Comparison) {
    over_ = Over::Nothing;
  } else if (a_ && b_) {
    over_ = Over::Comparison;
  } else {
    message_ = "mark two windows first: one with a, another with b";
  }
}

// Selects all windows between the marks, or the shown window.
void View::want() {
  if (history_->empty()) return;
  std::uint64_t first = number(), last = first;
  if (a_ && b_) std::tie(first, last) = std::minmax(a_->number, b_->number);
  std::vector<Sample> samples;
  for (std::uint64_t at = first; at <= last; ++at) {
    const Sample* sample = history_->find(at);
    if (!sample) {
      message_ = "nothing was written: the history no longer contains the first mark";
      return;
    }
    samples.push_back(*sample);
  }
  wanted_ = std::move(samples);
}

// --- the shown window

void View::refresh() {
  if (held_ && !history_->empty() && *held_ < history_->oldest().number) {
    held_ = history_->oldest().number;
    message_ = "the history does not reach back further than this any more";
  }
  show();
  find_rows();
  if (level_ == Level::Thread) fill_page();
}

void View::show() {
  const std::uint64_t wanted = number();
  if (wanted == 0 || (shown_.number == wanted && shown_.axis == axis())) return;
  const Sample* sample = history_->find(wanted);
  if (!sample) return;
  if (shown_.number != wanted || !shown_.window) {
    auto window = teller_->differences(*sample);
    if (window) return show(wanted, std::move(*window));
    shown_ = {wanted, axis(), {}, {}, window.error().text, {}};
  }
  tell();
}

void View::show(std::uint64_t number, Snapshot window) {
  shown_ = {number, axis(), std::move(window), {}, {}, {}};
  tell();
}

void View::tell() {
  shown_.axis = axis();
  shown_.report.reset();
  shown_.findings.clear();
  if (!shown_.window) return;
  const Snapshot* windows[] = {&*shown_.window};
  auto report = teller_->report(windows, axis());
  if (!report) return void(shown_.trouble = report.error().text);
  shown_.report.emplace(std::move(*report));
  for (const Finding& finding : find_causes(*shown_.report))
    shown_.findings.push_back(finding_sentence(finding));
}

// Adds the windows of the page that the history still contains.
void View::fill_page() {
  if (!page_) return;
  const std::uint64_t last = number();
  for (std::uint64_t at = last - std::min(last, kPageWindows - 1); at <= last; ++at) {
    const Sample* sample = page_->has(at) ? nullptr : history_->find(at);
    if (!sample) continue;
    if (at == shown_.number && shown_.window) {
      page_->take(at, *shown_.window);
    } else if (auto window = teller_->differences(*sample)) {
      page_->take(at, *window);
    }
  }
}

}  // namespace ctprof::live
