#include "core/tables/capture_fields.hpp"

#include <cstdio>
#include <ctime>
#include <limits>

#include "core/base/clock.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kMaxTime = std::numeric_limits<std::int64_t>::max();

std::string make_capture_id(const Snapshot& snapshot) {
  if (snapshot.meta.boot_id.empty()) return "@" + std::to_string(snapshot.meta.start.wall_unix_ns);
  std::string id = snapshot.meta.boot_id + "@";
  if (snapshot.window) id += std::to_string(snapshot.window->opened_at.boottime_ns) + "-";
  return id + std::to_string(snapshot.meta.start.boottime_ns);
}

}  // namespace

std::string format_utc_time(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / kNsPerSecond);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%09uZ", date, static_cast<unsigned>(unix_ns % kNsPerSecond));
  return text;
}

CaptureFields make_capture_fields(const Snapshot& snapshot) {
  CaptureFields mark{make_capture_id(snapshot), std::nullopt, snapshot.meta.hostname, std::nullopt};
  const std::uint64_t captured = snapshot.meta.start.wall_unix_ns;
  if (captured > 0 && captured <= kMaxTime) mark.captured_at = format_utc_time(captured);
  if (snapshot.window) {
    const std::uint64_t opened = snapshot.window->opened_at.boottime_ns;
    const std::uint64_t closed = snapshot.meta.start.boottime_ns;
    mark.window_ns = closed > opened ? closed - opened : 0;
  }
  return mark;
}

}  // namespace ctprof
