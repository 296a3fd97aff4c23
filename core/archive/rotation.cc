#include "core/archive/rotation.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000, kDayNs = 24 * kHourNs;
constexpr std::uint64_t kMaxIndexLineBytes = 160;  // maximum bytes, including a boot id

// Returns the difference between wall clock and boot time. It may wrap around for damaged files.
std::uint64_t wall_clock_offset(const Timestamp& moment) {
  return moment.wall_unix_ns - moment.boottime_ns;
}

// Returns whether the windows between the two cannot be older than both and used the same clock
// setting.
bool have_same_clock(const ArchivedWindow& first, const ArchivedWindow& last) {
  constexpr std::uint64_t kMaxDriftNs = 10'000'000'000;  // drift that NTP corrects without a step
  const std::uint64_t clock_difference =
      wall_clock_offset(first.opened_at) - wall_clock_offset(last.ended_at);
  return first.boot_id == last.boot_id && clock_difference + kMaxDriftNs <= 2 * kMaxDriftNs;
}

// Calls `visit` with a set of windows that includes the oldest one and one for each clock setting.
template <class Visitor>
void visit_ends(const ArchiveFile& file, Visitor visit) {
  if (file.windows.empty()) return;
  if (!have_same_clock(file.windows.front(), file.windows.back()))
    return void(std::ranges::for_each(file.windows, visit));
  visit(file.windows.front());
  visit(file.windows.back());
}

}  // namespace

FileAges::FileAges(std::span<const ArchiveFile> files, CurrentTime current_time,
                   std::uint64_t max_age_ns)
    : current_(std::move(current_time)) {
  check_clock_step(current_.earlier_window, max_age_ns);
  for (const ArchiveFile& file : files)
    visit_ends(file, [&](const ArchivedWindow& window) { check_clock_step(window, max_age_ns); });
}

void FileAges::check_clock_step(const ArchivedWindow& window, std::uint64_t max_age_ns) {
  if (!is_of_current_boot(window)) return;
  check_clock_step(window.opened_at, max_age_ns);
  check_clock_step(window.ended_at, max_age_ns);
}

void FileAges::check_clock_step(const Timestamp& moment, std::uint64_t max_age_ns) {
  const auto step =
      static_cast<std::int64_t>(wall_clock_offset(current_.now) - wall_clock_offset(moment));
  if (step < 0 || static_cast<std::uint64_t>(step) <= max_age_ns) return;
  step_ns_ = std::max(step_ns_, static_cast<std::uint64_t>(step));
  step_time_ns_ = std::max(step_time_ns_, moment.wall_unix_ns);
}

bool FileAges::is_of_current_boot(const ArchivedWindow& window) const {
  return !current_.boot_id.empty() && window.boot_id == current_.boot_id;
}

std::uint64_t FileAges::corrected_open_time(const ArchivedWindow& window) const {
  const Timestamp &now = current_.now, &opened = window.opened_at;
  if (is_of_current_boot(window)) {
    const std::uint64_t age = now.boottime_ns - std::min(now.boottime_ns, opened.boottime_ns);
    return now.wall_unix_ns - std::min(now.wall_unix_ns, age);
  }
  const bool is_from_before = step_ns_ > 0 && opened.wall_unix_ns <= step_time_ns_;
  return opened.wall_unix_ns + (is_from_before ? step_ns_ : 0);
}

std::uint64_t FileAges::oldest_window_time(const ArchiveFile& file) const {
  if (file.windows.empty()) return file.name.hour * kHourNs;
  std::uint64_t oldest = UINT64_MAX;
  visit_ends(file, [&](const ArchivedWindow& window) {
    oldest = std::min(oldest, corrected_open_time(window));
  });
  return oldest;
}

std::vector<std::size_t> FileAges::sort_by_age(std::span<const ArchiveFile> files) const {
  std::vector<std::size_t> places;
  std::vector<std::uint64_t> oldest;
  for (const ArchiveFile& file : files) {
    places.push_back(places.size());
    oldest.push_back(oldest_window_time(file));
  }
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return oldest[place]; });
  return places;
}

std::uint64_t bytes_of(const ArchiveFile& file) {
  return file.size + kMaxIndexLineBytes * file.windows.size();
}

std::uint64_t bytes_of(std::span<const ArchiveFile> files) {
  std::uint64_t bytes = 0;
  for (const ArchiveFile& file : files) bytes += bytes_of(file);
  return bytes;
}

std::uint64_t bytes_with_window(std::span<const ArchiveFile> files, std::uint64_t window_bytes) {
  return bytes_of(files) + window_bytes + kMaxIndexLineBytes;
}

std::vector<std::size_t> find_too_old(std::span<const ArchiveFile> files, const FileAges& ages,
                                      std::uint64_t at_unix_ns, const RetentionRules& rules) {
  const std::uint64_t since = at_unix_ns - std::min(at_unix_ns, rules.max_age_ns);
  std::vector<std::size_t> old;
  for (const std::size_t place : ages.sort_by_age(files))
    if (ages.oldest_window_time(files[place]) < since) old.push_back(place);
  return old;
}

Forecast predict_size(std::uint64_t window_bytes, std::uint64_t every_ns,
                      const RetentionRules& rules) {
  Forecast forecast;
  const double bytes = static_cast<double>(window_bytes + kMaxIndexLineBytes);
  const double windows = static_cast<double>(rules.max_age_ns) / static_cast<double>(every_ns);
  forecast.window_bytes = window_bytes;
  forecast.day_bytes = static_cast<std::uint64_t>(bytes * static_cast<double>(kDayNs) /
                                                  static_cast<double>(every_ns));
  forecast.total_bytes = static_cast<std::uint64_t>(bytes * windows);
  const double share = static_cast<double>(rules.max_bytes) / (bytes * windows);
  forecast.available_ns =
      static_cast<std::uint64_t>(static_cast<double>(rules.max_age_ns) * std::min(share, 1.0));
  return forecast;
}

}  // namespace ctprof
