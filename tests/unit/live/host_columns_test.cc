// Compares the columns of the plugin `host` with /proc/stat of this host.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/host/stat.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace host_columns_test {
using namespace ctprof;
using namespace ctprof::host;

namespace {

std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_columns_test)

BOOST_AUTO_TEST_CASE(columns_match_proc_stat_of_this_host) {
  const LoadedPlugin plugin("host");
  const TestHost host("", {1, 1}, CTPROF_HOST_LIVE);
  sdk::TextFile file;
  const auto now = [&] { return parse_stat(file.read_records(AT_FDCWD, "/proc/stat").value); };
  const Stat before = now();
  const std::uint64_t uptime_before = monotonic_ns();
  SourceDriver driver(*plugin, 0, host);
  BOOST_TEST(driver.probe().empty());
  driver.collect_host();
  const Stat after = now();
  BOOST_TEST(std::stoull(driver.cell("host.uptime_ns", 0)) >= uptime_before);
  BOOST_TEST(std::stoull(driver.cell("host.uptime_ns", 0)) <= monotonic_ns());
  const auto is_between = [&](const char* metric, const auto& figure, std::uint64_t factor) {
    const std::uint64_t value = std::stoull(driver.cell(metric, 0));
    BOOST_TEST(value >= figure(before) * factor, metric);
    BOOST_TEST(value <= figure(after) * factor, metric);
  };
  constexpr std::uint64_t kTick = 10'000'000;
  is_between(
      "host.cpu.user_ns", [](const Stat& s) { return s.ticks[kUser].value; }, kTick);
  is_between(
      "host.cpu.idle_ns", [](const Stat& s) { return s.ticks[kIdle].value; }, kTick);
  is_between(
      "host.cpu.softirq_ns", [](const Stat& s) { return s.ticks[kSoftirq].value; }, kTick);
  is_between(
      "host.context_switches", [](const Stat& s) { return s.context_switches.value; }, 1);
  is_between(
      "host.cpu.online", [](const Stat& s) { return s.cpus.value; }, 1);
  is_between(
      "host.forks", [](const Stat& s) { return s.forks.value; }, 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace host_columns_test
