// Builds sides of several windows: the CPU time of `app` is set by the test; other threads vary
// slightly and independently of it.

#pragma once

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/render/report_json.hpp"
#include "core/render/screen_text.hpp"
#include "tests/unit/support/screen_windows.hpp"

namespace ctprof::several_runs {

namespace json = boost::json;
using namespace screen_windows;

// The CPU time of `app` in each run, in milliseconds per second; below, how other threads vary.
using Runs = std::vector<std::uint64_t>;
inline constexpr std::uint64_t kVariation[] = {0, 7, 3, 9, 1, 5, 8, 2, 6, 4};

inline Snapshot make_run(std::uint64_t app, std::size_t at, std::uint64_t second) {
  const std::uint64_t variation = kVariation[at % 10];
  Snapshot run = window_of({{.name = "app", .cpu = app * 10 * kMs},
                            {.name = "steady", .cpu = (5000 + 40 * variation) * kMs},
                            {.name = "other",
                             .cpu = (1500 + 15 * variation * variation) * kMs,
                             .switches = 4000 + 100 * (variation * 7 % 10)},
                            {.name = "quiet", .cpu = 2 * kMs}});
  run.meta.start.wall_unix_ns = second * kSecond;
  return run;
}

class TwoSides {
 public:
  // Runs of the sides come one after the other, or alternate if `is_alternating` is set.
  TwoSides(const Runs& before, const Runs& after, bool is_alternating = false)
      : sizes{before.size()} {
    for (std::size_t i = 0; i < before.size(); ++i)
      runs.push_back(make_run(before[i], i, 100 + (is_alternating ? 20 * i : 10 * i)));
    for (std::size_t i = 0; i < after.size(); ++i)
      runs.push_back(make_run(after[i], i + 3, is_alternating ? 110 + 20 * i : 1000 + 10 * i));
    sizes.push_back(after.size());
  }

  Report report(Spec spec = {}) const {
    spec.side_sizes = sizes;
    std::vector<const Snapshot*> all;
    for (const Snapshot& run : runs) all.push_back(&run);
    return report_of(all, std::move(spec));
  }

  std::vector<Snapshot> runs;
  std::vector<std::size_t> sizes;
};

inline const Runs kBefore{300, 303, 297, 301}, kAfter{362, 358, 360, 365},
    kSame{299, 302, 304, 298};

inline const ScreenFigure& cpu_of(const Report& report, const std::string& name) {
  return report.screen()->figures(find_row(report, name), 0)[1];
}

inline std::string screen_of(const Report& report, unsigned width = 120) {
  const std::vector<std::string> files{"a", "b"};
  return format_screen(report, files, {{width, false, false}, 24, {}});
}

inline std::size_t metric_index(const Report& report, std::string_view name) {
  const auto& metrics = report.metrics();
  return static_cast<std::size_t>(std::ranges::find(metrics, name, &PlannedMetric::name) -
                                  metrics.begin());
}

struct TextSink : Sink {
  Result<void> write(std::string_view piece) override { return text += piece, Result<void>(); }
  std::string text;
};

inline json::value json_of(const Report& report) {
  TextSink sink;
  BOOST_REQUIRE(write_report_json(report, std::vector<std::string>{"a", "b"}, sink));
  return json::parse(sink.text);
}

}  // namespace ctprof::several_runs
