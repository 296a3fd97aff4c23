#include "core/archive/span.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/archive/directory.hpp"
#include "core/archive/when.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/load.hpp"
#include "core/window/laps.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostTold = 20;  // gaps that are reported individually; others are counted

// Reads windows one after the other, and joins consecutive ones.
class Joiner {
 public:
  Joiner(const SpanWindows& windows, const Vocabulary& vocabulary)
      : windows_(&windows), vocabulary_(&vocabulary) {}

  Result<void> add(std::size_t number) {
    auto window = windows_->read(number, *vocabulary_);
    if (!window) {
      tell(window.error().text + "; that window is left out");
      return {};
    }
    const bool goes_on = last_ && follows_last(*window);
    if (last_ && !goes_on) tell_gap(*window);
    if (!goes_on)
      if (auto done = close(); !done) return done;
    if (auto room = count_memory(*window); !room) return room;
    if (spanned_.windows++ == 0) spanned_.from_ns = window->window->opened.wall_unix_ns;
    spanned_.until_ns = window->meta.start.wall_unix_ns;
    last_ = Last{window->meta.boot_id, window->window->opened, window->meta.start};
    if (!goes_on) {
      only_ = std::move(*window);
      return {};
    }
    if (!laps_) laps_.emplace(std::move(*std::exchange(only_, std::nullopt)));
    laps_->add(std::move(*window));
    return {};
  }

  Result<Spanned> finish() {
    if (auto done = close(); !done) return done.error();
    if (untold_ > 0)
      spanned_.told.push_back("and so on, " + std::to_string(untold_) + " times more");
    return std::move(spanned_);
  }

 private:
  // Identity and times of the previous window.
  struct Last {
    std::string boot_id;
    Moment opened, ended;
  };

  bool follows_last(const Snapshot& next) const {
    return !next.meta.boot_id.empty() && next.meta.boot_id == last_->boot_id &&
           next.window->opened.boottime_ns == last_->ended.boottime_ns;
  }

  void tell(std::string sentence) {
    if (spanned_.told.size() < kMostTold)
      spanned_.told.push_back(std::move(sentence));
    else
      ++untold_;
  }

  void tell_gap(const Snapshot& next) {
    const Moment &from = last_->ended, &until = next.window->opened;
    const bool same_boot = next.meta.boot_id == last_->boot_id;
    const std::uint64_t ns =
        same_boot ? until.boottime_ns - std::min(until.boottime_ns, from.boottime_ns)
                  : until.wall_unix_ns - std::min(until.wall_unix_ns, from.wall_unix_ns);
    tell("no recording exists from " + local_times(from.wall_unix_ns, until.wall_unix_ns) + " (" +
         how_long(ns) + (same_boot ? ")" : "; the host was rebooted)"));
  }

  // Limits the memory of exited threads, which are kept until a run is complete.
  Result<void> count_memory(const Snapshot& window) {
    memory_ += memory_of_exited(window);
    if (memory_ <= limits::kMemory) return {};
    return error("reading", windows_->path(),
                 "the threads that ended from " +
                     local_times(spanned_.from_ns, window.meta.start.wall_unix_ns) +
                     " take too much memory; ask for a shorter span");
  }

  Result<void> close() {
    last_.reset();
    if (laps_) {
      auto whole = std::move(*laps_).join();
      laps_.reset();
      if (!whole) return whole.error();
      spanned_.runs.push_back(std::move(*whole));
    } else if (only_) {
      spanned_.runs.push_back(std::move(*std::exchange(only_, std::nullopt)));
    }
    return {};
  }

  const SpanWindows* windows_;
  const Vocabulary* vocabulary_;
  Spanned spanned_;
  std::optional<Last> last_;
  std::optional<Snapshot> only_;  // the only window of the current run so far
  std::optional<Laps> laps_;      // the windows of the current run, if it has several
  std::size_t memory_ = 0;
  std::size_t untold_ = 0;
};

}  // namespace

bool SpanWindows::lies_in(const Place& place, const Span& span) {
  return (!span.until || place.window.opened.wall_unix_ns < *span.until) &&
         (!span.since || place.window.ended.wall_unix_ns > *span.since);
}

// Sorts boots by their start, and the windows of each boot by its boot time, which cannot be set.
void SpanWindows::sort_by_time(std::vector<Place>& places) {
  std::map<std::string, std::uint64_t> began;
  for (const Place& place : places) {
    const Moment& opened = place.window.opened;
    const std::uint64_t boot =
        opened.wall_unix_ns - std::min(opened.wall_unix_ns, opened.boottime_ns);
    const auto known = began.emplace(place.window.boot_id, boot).first;
    known->second = std::min(known->second, boot);
  }
  const auto order = [&](const Place& place) {
    return std::tuple(began[place.window.boot_id], std::cref(place.window.boot_id),
                      place.window.opened.boottime_ns);
  };
  std::ranges::stable_sort(places, [&](const Place& a, const Place& b) {
    const auto [a_began, a_boot, a_opened] = order(a);
    const auto [b_began, b_boot, b_opened] = order(b);
    return std::tuple(a_began, a_boot.get(), a_opened) <
           std::tuple(b_began, b_boot.get(), b_opened);
  });
}

Error SpanWindows::nothing_there(const std::string& path, const std::vector<Place>& all) {
  if (all.empty()) return error("reading", path, "it holds no window that is whole");
  return error("reading", path,
               "it has no window in that time; its windows are from " +
                   local_times(all.front().window.opened.wall_unix_ns,
                               all.back().window.ended.wall_unix_ns));
}

// Reports the parts of the span before the first and after the last window.
std::vector<std::string> SpanWindows::ends_of(const Span& span, const std::vector<Place>& all) {
  std::vector<std::string> told;
  const Moment &first = all.front().window.opened, &last = all.back().window.ended;
  if (span.since && *span.since < first.wall_unix_ns)
    told.push_back("the recordings start at " + local_time(first.wall_unix_ns));
  if (span.until && *span.until > last.wall_unix_ns)
    told.push_back("the recordings end at " + local_time(last.wall_unix_ns));
  return told;
}

Result<SpanWindows> SpanWindows::find(const std::string& path, const Span& span) {
  auto directory = Directory::open(path);
  if (!directory) return directory.error();
  auto files = directory->files();
  if (!files) return files.error();
  SpanWindows windows(std::move(*directory));
  std::vector<Place> all;
  for (KeptFile& file : *files) {
    if (file.torn)
      windows.told_.push_back(
          "'" + name_of(file.name) +
          "' ends with a window that is incomplete or being written; that window is skipped");
    if (!file.unread.empty())
      windows.told_.push_back("'" + name_of(file.name) + "' is left out from byte " +
                              std::to_string(file.whole) + " on: " + file.unread);
    for (KeptWindow& window : file.windows) all.push_back({file.name, std::move(window)});
  }
  sort_by_time(all);
  for (const Place& place : all)
    if (lies_in(place, span)) windows.places_.push_back(place);
  if (windows.places_.empty()) return nothing_there(path, all);
  std::ranges::move(ends_of(span, all), std::back_inserter(windows.told_));
  return windows;
}

Result<Snapshot> SpanWindows::read(std::size_t number, const Vocabulary& vocabulary) const {
  const Place& place = places_[number];
  const auto bytes = directory_.read(place.file, place.window);
  if (!bytes) return bytes.error();
  auto window = load_bytes(*bytes, {.path = name_of(place.file), .is_chosen = true}, vocabulary);
  if (window && !window->window)
    return error("reading", name_of(place.file), "it holds a snapshot among windows");
  return window;
}

std::size_t memory_of_exited(const Snapshot& window) {
  constexpr std::size_t kCell = sizeof(std::uint64_t) + sizeof(ctprof_gap);
  const std::size_t exited = window.threads().rows - window.window->living;
  return exited * window.threads().columns.size() * kCell;
}

Result<Spanned> read_span(const std::string& path, const Span& span, const Vocabulary& vocabulary) {
  const auto windows = SpanWindows::find(path, span);
  if (!windows) return windows.error();
  Joiner joiner(*windows, vocabulary);
  for (std::size_t number = 0; number < windows->size(); ++number)
    if (auto added = joiner.add(number); !added) return added.error();
  auto spanned = joiner.finish();
  if (!spanned) return spanned;
  std::vector<std::string> told = windows->told();
  std::ranges::move(spanned->told, std::back_inserter(told));
  spanned->told = std::move(told);
  if (spanned->runs.empty())
    return error("reading", path, "no window can be read: " + spanned->told.back());
  return spanned;
}

}  // namespace ctprof
