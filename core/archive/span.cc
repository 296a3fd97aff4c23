#include "core/archive/span.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/archive/directory.hpp"
#include "core/archive/time_text.hpp"
#include "core/file/capture_file.hpp"
#include "core/file/layout/limits.hpp"
#include "core/window/join_windows.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxMessages = 20;  // gaps that are reported individually; others are counted

// Reads windows one after the other, and joins consecutive ones.
class Joiner {
 public:
  Joiner(const SpanWindows& windows, const Vocabulary& vocabulary)
      : windows_(&windows), vocabulary_(&vocabulary) {}

  Result<void> add(std::size_t number) {
    auto window = windows_->read(number, *vocabulary_);
    if (!window) {
      add_message(window.error().text + "; that window is left out");
      return {};
    }
    const bool is_contiguous = last_window_ && follows_last(*window);
    if (last_window_ && !is_contiguous) report_gap(*window);
    if (!is_contiguous) CTPROF_TRY(finish_run());
    CTPROF_TRY(count_memory(*window));
    if (result_.window_count++ == 0) result_.from_ns = window->window->opened_at.wall_unix_ns;
    result_.until_ns = window->meta.start.wall_unix_ns;
    last_window_ = LastWindow{window->meta.boot_id, window->window->opened_at, window->meta.start};
    if (!is_contiguous) {
      only_window_ = std::move(*window);
      return {};
    }
    if (!joiner_) joiner_.emplace(std::move(*std::exchange(only_window_, std::nullopt)));
    joiner_->add(std::move(*window));
    return {};
  }

  Result<SpanResult> finish() {
    CTPROF_TRY(finish_run());
    if (omitted_messages_ > 0)
      result_.messages.push_back("and " + std::to_string(omitted_messages_) +
                                 " more messages of these kinds");
    return std::move(result_);
  }

 private:
  // Identity and times of the previous window.
  struct LastWindow {
    std::string boot_id;
    Timestamp opened, ended;
  };

  bool follows_last(const Snapshot& next) const {
    return !next.meta.boot_id.empty() && next.meta.boot_id == last_window_->boot_id &&
           next.window->opened_at.boottime_ns == last_window_->ended.boottime_ns;
  }

  void add_message(std::string sentence) {
    if (result_.messages.size() < kMaxMessages)
      result_.messages.push_back(std::move(sentence));
    else
      ++omitted_messages_;
  }

  void report_gap(const Snapshot& next) {
    const Timestamp &from = last_window_->ended, &until = next.window->opened_at;
    const bool same_boot = next.meta.boot_id == last_window_->boot_id;
    const std::uint64_t ns =
        same_boot ? until.boottime_ns - std::min(until.boottime_ns, from.boottime_ns)
                  : until.wall_unix_ns - std::min(until.wall_unix_ns, from.wall_unix_ns);
    add_message("no recording exists from " +
                format_local_times(from.wall_unix_ns, until.wall_unix_ns) + " (" +
                format_duration(ns) + (same_boot ? ")" : "; the host was rebooted)"));
  }

  // Limits the memory of exited threads, which are kept until a run is complete.
  Result<void> count_memory(const Snapshot& window) {
    memory_ += memory_of_exited(window);
    if (memory_ <= limits::kMemory) return {};
    return error("reading", windows_->path(),
                 "the threads that exited from " +
                     format_local_times(result_.from_ns, window.meta.start.wall_unix_ns) +
                     " take too much memory; select a shorter span");
  }

  Result<void> finish_run() {
    last_window_.reset();
    if (joiner_) {
      auto joined_window = std::move(*joiner_).join();
      joiner_.reset();
      if (!joined_window) return joined_window.error();
      result_.runs.push_back(std::move(*joined_window));
    } else if (only_window_) {
      result_.runs.push_back(std::move(*std::exchange(only_window_, std::nullopt)));
    }
    return {};
  }

  const SpanWindows* windows_;
  const Vocabulary* vocabulary_;
  SpanResult result_;
  std::optional<LastWindow> last_window_;
  std::optional<Snapshot> only_window_;  // the only window of the current run so far
  std::optional<WindowJoiner> joiner_;   // the windows of the current run, if it has several
  std::size_t memory_ = 0;
  std::size_t omitted_messages_ = 0;
};

}  // namespace

bool SpanWindows::is_in_span(const Location& location, const Span& span) {
  return (!span.until || location.window.opened_at.wall_unix_ns < *span.until) &&
         (!span.since || location.window.ended_at.wall_unix_ns > *span.since);
}

// Sorts boots by their start, and the windows of each boot by its boot time, which cannot be set.
void SpanWindows::sort_by_time(std::vector<Location>& locations) {
  std::map<std::string, std::uint64_t> boot_starts;
  for (const Location& location : locations) {
    const Timestamp& opened = location.window.opened_at;
    const std::uint64_t boot =
        opened.wall_unix_ns - std::min(opened.wall_unix_ns, opened.boottime_ns);
    const auto known = boot_starts.emplace(location.window.boot_id, boot).first;
    known->second = std::min(known->second, boot);
  }
  const auto order = [&](const Location& location) {
    return std::tuple(boot_starts[location.window.boot_id], std::cref(location.window.boot_id),
                      location.window.opened_at.boottime_ns);
  };
  std::ranges::stable_sort(locations, [&](const Location& a, const Location& b) {
    const auto [a_began, a_boot, a_opened] = order(a);
    const auto [b_began, b_boot, b_opened] = order(b);
    return std::tuple(a_began, a_boot.get(), a_opened) <
           std::tuple(b_began, b_boot.get(), b_opened);
  });
}

Error SpanWindows::no_window_error(const std::string& path, const std::vector<Location>& all) {
  if (all.empty()) return error("reading", path, "it contains no complete window");
  return error("reading", path,
               "it has no window in the requested span; its windows are from " +
                   format_local_times(all.front().window.opened_at.wall_unix_ns,
                                      all.back().window.ended_at.wall_unix_ns));
}

// Reports the parts of the span before the first and after the last window.
std::vector<std::string> SpanWindows::describe_missing_ends(const Span& span,
                                                            const std::vector<Location>& all) {
  std::vector<std::string> messages;
  const Timestamp &first = all.front().window.opened_at, &last = all.back().window.ended_at;
  if (span.since && *span.since < first.wall_unix_ns)
    messages.push_back("the recordings start at " + format_local_time(first.wall_unix_ns));
  if (span.until && *span.until > last.wall_unix_ns)
    messages.push_back("the recordings end at " + format_local_time(last.wall_unix_ns));
  return messages;
}

Result<SpanWindows> SpanWindows::find(const std::string& path, const Span& span) {
  CTPROF_TRY_VALUE(auto directory, Directory::open(path));
  CTPROF_TRY_VALUE(auto files, directory.files());
  SpanWindows windows(std::move(directory));
  std::vector<Location> all;
  for (ArchiveFile& file : files) {
    if (file.is_truncated)
      windows.messages_.push_back(
          "'" + file_name_of(file.name) +
          "' ends with a window that is incomplete or being written; that window is skipped");
    if (!file.invalid_reason.empty())
      windows.messages_.push_back("'" + file_name_of(file.name) + "' is not read beyond byte " +
                                  std::to_string(file.complete_bytes) + ": " + file.invalid_reason);
    for (ArchivedWindow& window : file.windows) all.push_back({file.name, std::move(window)});
  }
  sort_by_time(all);
  for (const Location& location : all)
    if (is_in_span(location, span)) windows.locations_.push_back(location);
  if (windows.locations_.empty()) return no_window_error(path, all);
  std::ranges::move(describe_missing_ends(span, all), std::back_inserter(windows.messages_));
  return windows;
}

Result<Snapshot> SpanWindows::read(std::size_t number, const Vocabulary& vocabulary) const {
  const Location& location = locations_[number];
  CTPROF_TRY_VALUE(const auto bytes, directory_.read(location.file, location.window));
  auto window = CaptureFile(bytes, {.path = file_name_of(location.file), .has_number = true})
                    .load(vocabulary);
  if (window && !window->window)
    return error("reading", file_name_of(location.file), "it holds a snapshot among windows");
  return window;
}

std::size_t memory_of_exited(const Snapshot& window) {
  constexpr std::size_t kCell = sizeof(std::uint64_t) + sizeof(ctprof_gap);
  const std::size_t exited = window.threads().rows - window.window->living_threads;
  return exited * window.threads().columns.size() * kCell;
}

Result<SpanResult> read_span(const std::string& path, const Span& span,
                             const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(const auto windows, SpanWindows::find(path, span));
  Joiner joiner(windows, vocabulary);
  for (std::size_t number = 0; number < windows.size(); ++number) CTPROF_TRY(joiner.add(number));
  CTPROF_TRY_VALUE(auto result, joiner.finish());
  std::vector<std::string> messages = windows.messages();
  std::ranges::move(result.messages, std::back_inserter(messages));
  result.messages = std::move(messages);
  if (result.runs.empty())
    return error("reading", path, "no window can be read: " + result.messages.back());
  return result;
}

}  // namespace ctprof
