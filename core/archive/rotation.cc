#include "core/archive/rotation.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000, kDayNs = 24 * kHourNs;
constexpr std::uint64_t kIndexLine = 160;  // maximum bytes, including a boot id

// Returns the difference between wall clock and boot time. It may wrap around for damaged files.
std::uint64_t lead(const Moment& moment) { return moment.wall_unix_ns - moment.boottime_ns; }

// Returns whether the windows between the two cannot be older than both and used the same clock
// setting.
bool are_alike(const KeptWindow& first, const KeptWindow& last) {
  constexpr std::uint64_t kDrift = 10'000'000'000;  // drift that NTP corrects without a step
  const std::uint64_t lag = lead(first.opened) - lead(last.ended);
  return first.boot_id == last.boot_id && lag + kDrift <= 2 * kDrift;
}

// Calls `visit` with a set of windows that includes the oldest one and one for each clock setting.
template <class See>
void see_ends(const KeptFile& file, See see) {
  if (file.windows.empty()) return;
  if (!are_alike(file.windows.front(), file.windows.back()))
    return void(std::ranges::for_each(file.windows, see));
  see(file.windows.front());
  see(file.windows.back());
}

}  // namespace

Ages::Ages(std::span<const KeptFile> files, Present present, std::uint64_t keep_ns)
    : present_(std::move(present)) {
  take(present_.before, keep_ns);
  for (const KeptFile& file : files)
    see_ends(file, [&](const KeptWindow& window) { take(window, keep_ns); });
}

void Ages::take(const KeptWindow& window, std::uint64_t keep_ns) {
  if (!is_of_boot(window)) return;
  take(window.opened, keep_ns);
  take(window.ended, keep_ns);
}

void Ages::take(const Moment& moment, std::uint64_t keep_ns) {
  const auto step = static_cast<std::int64_t>(lead(present_.now) - lead(moment));
  if (step < 0 || static_cast<std::uint64_t>(step) <= keep_ns) return;
  step_ns_ = std::max(step_ns_, static_cast<std::uint64_t>(step));
  stepped_at_ns_ = std::max(stepped_at_ns_, moment.wall_unix_ns);
}

bool Ages::is_of_boot(const KeptWindow& window) const {
  return !present_.boot_id.empty() && window.boot_id == present_.boot_id;
}

std::uint64_t Ages::opened(const KeptWindow& window) const {
  const Moment &now = present_.now, &opened = window.opened;
  if (is_of_boot(window)) {
    const std::uint64_t age = now.boottime_ns - std::min(now.boottime_ns, opened.boottime_ns);
    return now.wall_unix_ns - std::min(now.wall_unix_ns, age);
  }
  const bool is_from_before = step_ns_ > 0 && opened.wall_unix_ns <= stepped_at_ns_;
  return opened.wall_unix_ns + (is_from_before ? step_ns_ : 0);
}

std::uint64_t Ages::oldest_in(const KeptFile& file) const {
  if (file.windows.empty()) return file.name.hour * kHourNs;
  std::uint64_t oldest = UINT64_MAX;
  see_ends(file, [&](const KeptWindow& window) { oldest = std::min(oldest, opened(window)); });
  return oldest;
}

std::vector<std::size_t> Ages::by_age(std::span<const KeptFile> files) const {
  std::vector<std::size_t> places;
  std::vector<std::uint64_t> oldest;
  for (const KeptFile& file : files) {
    places.push_back(places.size());
    oldest.push_back(oldest_in(file));
  }
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return oldest[place]; });
  return places;
}

std::uint64_t bytes_of(const KeptFile& file) {
  return file.size + kIndexLine * file.windows.size();
}

std::uint64_t bytes_of(std::span<const KeptFile> files) {
  std::uint64_t bytes = 0;
  for (const KeptFile& file : files) bytes += bytes_of(file);
  return bytes;
}

std::uint64_t bytes_with(std::span<const KeptFile> files, std::uint64_t more) {
  return bytes_of(files) + more + kIndexLine;
}

std::vector<std::size_t> too_old(std::span<const KeptFile> files, const Ages& ages,
                                 std::uint64_t at_unix_ns, const KeepRules& rules) {
  const std::uint64_t since = at_unix_ns - std::min(at_unix_ns, rules.keep_ns);
  std::vector<std::size_t> old;
  for (const std::size_t place : ages.by_age(files))
    if (ages.oldest_in(files[place]) < since) old.push_back(place);
  return old;
}

Forecast forecast(std::uint64_t window_bytes, std::uint64_t every_ns, const KeepRules& rules) {
  Forecast forecast;
  const double bytes = static_cast<double>(window_bytes + kIndexLine);
  const double windows = static_cast<double>(rules.keep_ns) / static_cast<double>(every_ns);
  forecast.window_bytes = window_bytes;
  forecast.day_bytes = static_cast<std::uint64_t>(bytes * static_cast<double>(kDayNs) /
                                                  static_cast<double>(every_ns));
  forecast.whole_bytes = static_cast<std::uint64_t>(bytes * windows);
  const double share = static_cast<double>(rules.most_bytes) / (bytes * windows);
  forecast.kept_ns =
      static_cast<std::uint64_t>(static_cast<double>(rules.keep_ns) * std::min(share, 1.0));
  return forecast;
}

}  // namespace ctprof
