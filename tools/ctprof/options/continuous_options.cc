#include "tools/ctprof/options/continuous_options.hpp"

#include <algorithm>
#include <string>

#include "core/archive/time_text.hpp"
#include "core/base/clock.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/amounts.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kHourNs = 3600 * kNsPerSecond;
constexpr Range kWindowPeriods{kNsPerSecond, kHourNs, "a time from 1s to 1h"};
constexpr Range kKeepTimes{kMinAgeNs, 20ULL * 366 * 24 * kHourNs,
                           "a time from 2h to 20 years, such as 7d"};
constexpr Range kSizes{kMinBytes, 1ULL << 50, "a size from 1M to 1024T (2G)"};

Result<std::vector<std::uint64_t>> read_times(const OptionValues& values, const char* name) {
  std::vector<std::uint64_t> times;
  if (!has_option(values, name)) return times;
  const std::uint64_t now = realtime_ns();
  for (const std::string& text : all_values(values, name)) {
    const auto time = parse_time(text, now);
    if (!time) return Error{"--" + std::string(name) + ": " + time.error().text};
    times.push_back(*time);
  }
  return times;
}

}  // namespace

Result<ContinuousOptions> read_continuous_options(const OptionValues& values) {
  ContinuousOptions options;
  options.dry_run = has_option(values, "dry-run");
  if (!has_option(values, "every")) {
    for (const char* name : {"keep", "max-size", "dry-run"})
      if (has_option(values, name))
        return Error{"--" + std::string(name) + " requires --every, such as --every 60s"};
    return options;
  }
  for (const char* name : {"repeat", "interleave"})
    if (has_option(values, name))
      return Error{"--every runs until it is stopped, and --" + std::string(name) +
                   " a number of times: use only one of them"};
  const bool is_file =
      has_option(values, "output") && last_value(values, "output").ends_with(kFileSuffix);
  for (const char* name : {"keep", "max-size"})
    if (is_file && has_option(values, name))
      return Error{"--" + std::string(name) + " requires -o DIR: a file keeps all windows"};
  CTPROF_TRY(read_amount(values, "every", kWindowPeriods, &parse_duration, options.every_ns));
  CTPROF_TRY(read_amount(values, "keep", kKeepTimes, &parse_duration, options.rules.max_age_ns));
  CTPROF_TRY(read_amount(values, "max-size", kSizes, &parse_size, options.rules.max_bytes));
  return options;
}

Result<std::vector<Span>> read_spans(const OptionValues& values) {
  CTPROF_TRY_VALUE(const auto since, read_times(values, "since"));
  CTPROF_TRY_VALUE(const auto until, read_times(values, "until"));
  std::vector<Span> spans(std::max(since.size(), until.size()));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!since.empty()) spans[i].since = since[std::min(i, since.size() - 1)];
    if (!until.empty()) spans[i].until = until[std::min(i, until.size() - 1)];
    if (spans[i].since && spans[i].until && *spans[i].since >= *spans[i].until)
      return Error{"--since (" + format_local_time(*spans[i].since) + ") is not before --until (" +
                   format_local_time(*spans[i].until) + ")"};
  }
  return spans;
}

}  // namespace ctprof::cli
