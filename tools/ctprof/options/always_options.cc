#include "tools/ctprof/options/always_options.hpp"

#include <algorithm>
#include <string>

#include "core/archive/when.hpp"
#include "core/base/clock.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/amounts.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kHourNs = 3600 * kNsPerSecond;
constexpr Range kWindowPeriods{kNsPerSecond, kHourNs, "a time from 1s to 1h"};
constexpr Range kAges{kLeastKeepNs, 20ULL * 366 * 24 * kHourNs, "a time from 2h to 20 years (7d)"};
constexpr Range kSizes{kLeastBytes, 1ULL << 50, "a size from 1M to 1024T (2G)"};

Result<std::vector<std::uint64_t>> read_moments(const OptionValues& given, const char* name) {
  std::vector<std::uint64_t> moments;
  if (!has_option(given, name)) return moments;
  const std::uint64_t now = realtime_ns();
  for (const std::string& text : all_values(given, name)) {
    const auto moment = parse_when(text, now);
    if (!moment) return Error{"--" + std::string(name) + ": " + moment.error().text};
    moments.push_back(*moment);
  }
  return moments;
}

}  // namespace

Result<AlwaysOptions> read_always_options(const OptionValues& given) {
  AlwaysOptions options;
  options.dry_run = has_option(given, "dry-run");
  if (!has_option(given, "every")) {
    for (const char* name : {"keep", "max-size", "dry-run"})
      if (has_option(given, name))
        return Error{"--" + std::string(name) + " requires --every, such as --every 60s"};
    return options;
  }
  for (const char* name : {"repeat", "interleave"})
    if (has_option(given, name))
      return Error{"--every runs until it is stopped, and --" + std::string(name) +
                   " a number of times: use only one of them"};
  const bool is_file =
      has_option(given, "output") && last_value(given, "output").ends_with(kFileSuffix);
  for (const char* name : {"keep", "max-size"})
    if (is_file && has_option(given, name))
      return Error{"--" + std::string(name) + " requires -o DIR: a file keeps all windows"};
  if (auto done = read_amount(given, "every", kWindowPeriods, &parse_length, options.every_ns);
      !done)
    return done.error();
  if (auto done = read_amount(given, "keep", kAges, &parse_length, options.rules.keep_ns); !done)
    return done.error();
  if (auto done = read_amount(given, "max-size", kSizes, &parse_size, options.rules.most_bytes);
      !done)
    return done.error();
  return options;
}

Result<std::vector<Span>> read_spans(const OptionValues& given) {
  const auto since = read_moments(given, "since"), until = read_moments(given, "until");
  if (!since) return since.error();
  if (!until) return until.error();
  std::vector<Span> spans(std::max(since->size(), until->size()));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!since->empty()) spans[i].since = (*since)[std::min(i, since->size() - 1)];
    if (!until->empty()) spans[i].until = (*until)[std::min(i, until->size() - 1)];
    if (spans[i].since && spans[i].until && *spans[i].since >= *spans[i].until)
      return Error{"--since (" + local_time(*spans[i].since) + ") is not before --until (" +
                   local_time(*spans[i].until) + ")"};
  }
  return spans;
}

}  // namespace ctprof::cli
