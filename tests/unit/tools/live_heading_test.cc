// Tests the heading of `ctprof live`: bars and text at any width.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "core/render/terminal_text.hpp"
#include "tools/ctprof/live/heading.hpp"

namespace ctprof::live::live_heading_test {
namespace {

constexpr double kSecond = 1e9;

std::string bar_of(std::vector<BarPart> parts, std::size_t width) {
  return format_bar(parts, width);
}

// A busy host with two CPUs: living threads used 0.9 s, exited threads 0.3 s.
RunFacts busy_run() {
  RunFacts run;
  run.host = RawJson{R"({"total_memory_kib":25165824})"};
  WindowFacts& window = run.window.emplace();
  window.length_ns = 1'000'000'000;
  window.rows = {
      .before = 153, .after = 157, .started = 144, .exited = 140, .metrics_not_in_opening = {}};
  window.records_exits = true;
  window.accounting = Accounting{.cpus = 2,
                                 .wall = kSecond,
                                 .busy = 1.3 * kSecond,
                                 .living = 0.9 * kSecond,
                                 .exited = 0.3 * kSecond,
                                 .unaccounted = 0.1 * kSecond,
                                 .max_error = 0.02 * kSecond};
  window.load.memory_available = 18 * 0x1p30;
  window.load.cpu_pressure = 0.46;
  window.load.io_pressure = 0.011;
  window.load.memory_pressure = 0;
  window.load.iowait = 0;
  window.load.load = 9.57;
  return run;
}

std::string text_of(const RunFacts& run, std::size_t width) {
  std::string text;
  for (const std::string& line : heading_lines(run, "20:31:05", width)) text += line + "\n";
  return text;
}

BOOST_AUTO_TEST_SUITE(live_heading_test)

BOOST_AUTO_TEST_CASE(a_bar_is_as_wide_as_requested) {
  BOOST_TEST(bar_of({}, 0) == "");
  BOOST_TEST(bar_of({}, 5) == ".....");
  BOOST_TEST(bar_of({{'#', 0.5}}, 8) == "####....");
  BOOST_TEST(bar_of({{'#', 0.5}, {'+', 0.25}}, 8) == "####++..");
  BOOST_TEST(bar_of({{'#', 1}}, 8) == "########");
}

BOOST_AUTO_TEST_CASE(a_bar_is_rounded_and_ends_at_the_whole) {
  BOOST_TEST(bar_of({{'#', 0.06}}, 8) == "........");
  BOOST_TEST(bar_of({{'#', 0.07}}, 8) == "#.......");
  BOOST_TEST(bar_of({{'#', 0.45}, {'+', 0.1}}, 10) == "#####+....");
  BOOST_TEST(bar_of({{'#', 0}, {'+', -0.5}}, 8) == "........");
  BOOST_TEST(bar_of({{'#', 7}, {'+', 0.5}}, 8) == "########");
  BOOST_TEST(bar_of({{'#', std::numeric_limits<double>::quiet_NaN()}}, 3) == "...");
}

BOOST_AUTO_TEST_CASE(shows_the_host_in_three_lines_of_80_columns) {
  BOOST_TEST(text_of(busy_run(), 80) ==
             "20:31:05   1.0 s   2 CPUs   threads 153 → 157, +144 -140   load 9.6\n"
             "cpu #########+++?....... 130 of 200 %: living 90, exited 30, unaccounted 10 (±2)\n"
             "mem ###......... 6.0 of 24.0 GiB   pressure cpu ##.. 46 io .... 1.1 mem .... 0 %\n");
}

BOOST_AUTO_TEST_CASE(fits_any_width) {
  for (std::size_t width = 40; width < 250; ++width)
    for (const std::string& line : heading_lines(busy_run(), "20:31:05", width))
      BOOST_TEST(get_display_width(line) <= width);
}

BOOST_AUTO_TEST_CASE(keeps_memory_and_one_pressure_in_one_line_at_any_width) {
  RunFacts run = busy_run();
  run.window->load.cpu_pressure.reset();
  run.window->load.memory_pressure.reset();
  // Without bars the text has 39 columns.
  for (std::size_t width = 45; width < 80; ++width) {
    const std::vector<std::string> lines = heading_lines(run, "20:31:05", width);
    const auto is_memory = [](const std::string& line) { return line.starts_with("mem "); };
    const auto memory = std::ranges::find_if(lines, is_memory);
    BOOST_REQUIRE(memory != lines.end());
    BOOST_TEST(memory->ends_with("1.1 %"), width << ": " << *memory);
    // Wrapped text has single spaces.
    BOOST_TEST(memory->find("   pressure io ") != std::string::npos, width << ": " << *memory);
  }
}

BOOST_AUTO_TEST_CASE(omits_bars_that_do_not_fit) {
  const std::string text = text_of(busy_run(), 40);
  BOOST_TEST(text.find('#') == std::string::npos);
  BOOST_TEST(text.find("130 of 200 %") != std::string::npos);
  BOOST_TEST(text.find("pressure cpu 46") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(omits_unknown_values) {
  RunFacts run = busy_run();
  run.host.reset();
  run.window->load = {};
  run.window->accounting.reset();
  BOOST_TEST(text_of(run, 80) == "20:31:05   1.0 s   threads 153 → 157, +144 -140\n");
  run.window->load.io_pressure = 0.5;
  BOOST_TEST(text_of(run, 80).find("\npressure io #####..... 50 %\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(shows_times_only_if_they_are_not_zero) {
  RunFacts run = busy_run();
  BOOST_TEST(text_of(run, 120).find("iowait") == std::string::npos);
  BOOST_TEST(text_of(run, 120).find("stolen") == std::string::npos);
  run.window->load.iowait = 0.12;
  run.window->load.throttled = 0.5;
  run.window->accounting->steal = 0.05 * kSecond;
  run.window->accounting->interrupts = 0.07 * kSecond;
  BOOST_TEST(text_of(run, 120).find("load 9.6   iowait 12 %   throttled 50 %") !=
             std::string::npos);
  BOOST_TEST(text_of(run, 120).find("(±2), stolen 5, interrupts 7\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_bar_excludes_exits_that_no_source_reports) {
  RunFacts run = busy_run();
  run.window->records_exits = false;
  BOOST_TEST(text_of(run, 120).find("exited threads not recorded") != std::string::npos);
  BOOST_TEST(text_of(run, 120).find("living 90, unaccounted 10") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::live::live_heading_test
