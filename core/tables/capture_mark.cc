#include "core/tables/capture_mark.hpp"

#include <cstdio>
#include <ctime>
#include <limits>

#include "core/base/clock.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kLatest = std::numeric_limits<std::int64_t>::max();

std::string capture_id(const Snapshot& snapshot) {
  if (snapshot.meta.boot_id.empty()) return "@" + std::to_string(snapshot.meta.start.wall_unix_ns);
  std::string id = snapshot.meta.boot_id + "@";
  if (snapshot.window) id += std::to_string(snapshot.window->opened.boottime_ns) + "-";
  return id + std::to_string(snapshot.meta.start.boottime_ns);
}

}  // namespace

std::string utc_time(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / kNsPerSecond);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%09uZ", date, static_cast<unsigned>(unix_ns % kNsPerSecond));
  return text;
}

CaptureMark mark_of(const Snapshot& snapshot) {
  CaptureMark mark{capture_id(snapshot), std::nullopt, snapshot.meta.hostname, std::nullopt};
  const std::uint64_t captured = snapshot.meta.start.wall_unix_ns;
  if (captured > 0 && captured <= kLatest) mark.captured_at = utc_time(captured);
  if (snapshot.window) {
    const std::uint64_t opened = snapshot.window->opened.boottime_ns;
    const std::uint64_t closed = snapshot.meta.start.boottime_ns;
    mark.window_ns = closed > opened ? closed - opened : 0;
  }
  return mark;
}

}  // namespace ctprof
