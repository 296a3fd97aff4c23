#include "tools/ctprof/live/view_text.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof::live {

std::string format_clock_time(std::uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / kNsPerSecond);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

std::string format_minutes(std::uint64_t ns) {
  const std::uint64_t seconds = (ns + kNsPerSecond / 2) / kNsPerSecond;
  const std::string rest = std::to_string(seconds % 60);
  return std::to_string(seconds / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

std::string axis_label(GroupBy axis) {
  switch (axis) {
    case GroupBy::Pcomm: return "processes by name";
    case GroupBy::Cgroup: return "cgroups";
    case GroupBy::Comm: return "threads by name";
    case GroupBy::Pid: return "each process";
    default: return "groups";
  }
}

void add_text(std::vector<Line>& lines, std::string_view text, LineStyle style) {
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.push_back({std::string(line), style});
}

void append_lines(std::vector<Line>& to, std::vector<Line> more) {
  std::ranges::move(more, std::back_inserter(to));
}

std::string truncate_text(std::string_view text, std::size_t width) {
  if (get_display_width(text) <= width || width == 0) return std::string(text);
  return fold(text, width - 1).front() + "…";
}

std::string format_interval(std::uint64_t ns) {
  const std::uint64_t tenths = ns / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
         " s";
}

}  // namespace ctprof::live
