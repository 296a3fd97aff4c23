#include "tools/ctprof/options/input_options.hpp"

#include <algorithm>
#include <cstddef>

#include "core/archive/time_text.hpp"
#include "core/base/clock.hpp"

namespace ctprof::cli {

Error missing_side_error() { return {"--vs needs files on both sides, as in A1 A2 --vs B1 B2"}; }

Result<std::vector<std::vector<std::string>>> take_sides(const OptionUse& use) {
  return use.line.sides;
}

Result<std::vector<std::uint64_t>> parse_times(const OptionUse& use) {
  std::vector<std::uint64_t> times;
  const std::uint64_t now = realtime_ns();
  for (const std::string& text : use.values) {
    const auto time = parse_time(text, now);
    if (!time) return Error{"--" + std::string(use.option) + ": " + time.error().text};
    times.push_back(*time);
  }
  return times;
}

Result<void> InputOptions::check(const CommandLine& line) {
  spans.resize(std::max(since.size(), until.size()));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!since.empty()) spans[i].since = since[std::min(i, since.size() - 1)];
    if (!until.empty()) spans[i].until = until[std::min(i, until.size() - 1)];
    if (spans[i].since && spans[i].until && *spans[i].since >= *spans[i].until)
      return Error{"--since (" + format_local_time(*spans[i].since) + ") is not before --until (" +
                   format_local_time(*spans[i].until) + ")"};
  }
  return CommonOptions::check(line);
}

}  // namespace ctprof::cli
