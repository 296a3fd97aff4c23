#include "core/archive/rotation.hpp"

#include <algorithm>

namespace ctprof {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000, kDayNs = 24 * kHourNs;
constexpr std::uint64_t kIndexLine = 160;  // at most, with a boot's id

std::uint64_t bytes_of(const KeptFile& file) {
  return file.size + kIndexLine * file.windows.size();
}

}  // namespace

std::uint64_t oldest_in(const KeptFile& file) {
  std::uint64_t oldest = file.name.hour * kHourNs;
  if (!file.windows.empty()) oldest = file.windows.front().opened.wall_unix_ns;
  for (const KeptWindow& window : file.windows)
    oldest = std::min(oldest, window.opened.wall_unix_ns);
  return oldest;
}

std::uint64_t bytes_of(std::span<const KeptFile> files) {
  std::uint64_t bytes = 0;
  for (const KeptFile& file : files) bytes += bytes_of(file);
  return bytes;
}

std::size_t too_old(std::span<const KeptFile> files, std::uint64_t now_unix_ns,
                    const KeepRules& rules) {
  const std::uint64_t since = now_unix_ns - std::min(now_unix_ns, rules.keep_ns);
  const auto first =
      std::ranges::find_if(files, [&](const KeptFile& file) { return oldest_in(file) >= since; });
  return static_cast<std::size_t>(first - files.begin());
}

std::size_t too_many(std::span<const KeptFile> files, std::uint64_t more, const KeepRules& rules) {
  std::uint64_t bytes = bytes_of(files) + more + kIndexLine;
  std::size_t gone = 0;
  while (gone < files.size() && bytes > rules.most_bytes) bytes -= bytes_of(files[gone++]);
  return gone;
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
