// Tests parsing /proc/stat, and the columns that it fills.

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "plugins/host/stat.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/loaded_plugin.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace host_stat_test {
using namespace ctprof;
using namespace ctprof::host;

namespace {

// The format of Linux 6.18; all values differ.
constexpr const char* kText =
    "cpu  10132153 290696 3084719 46828483 16683 17 25195 18 175628 19\n"
    "cpu0 1393280 32966 572056 13343292 6130 0 17875 0 23933 0\n"
    "intr 8885917 17 0 0 0 9\n"
    "ctxt 22848221\n"
    "btime 1605316999\n"
    "processes 26442\n"
    "procs_running 3\n"
    "procs_blocked 1\n"
    "softirq 5057579 250191 1481983 1647 211099 186066\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(host_stat_test)

BOOST_AUTO_TEST_CASE(parses_every_field) {
  const Stat stat = parse_stat(kText);
  const std::array<std::uint64_t, kCpuStates> ticks{10132153, 290696, 3084719, 46828483, 16683,
                                                    17,       25195,  18,      175628,   19};
  for (std::size_t state = 0; state < kCpuStates; ++state)
    BOOST_TEST(stat.ticks[state].value == ticks[state]);
  BOOST_TEST(stat.cpus.value == 1u);
  BOOST_TEST(stat.interrupts.value == 8885917u);
  BOOST_TEST(stat.softirqs.value == 5057579u);
  BOOST_TEST(stat.context_switches.value == 22848221u);
  BOOST_TEST(stat.forks.value == 26442u);
  BOOST_TEST(stat.running.value == 3u);
  BOOST_TEST(stat.blocked.value == 1u);
}

BOOST_AUTO_TEST_CASE(missing_and_malformed_fields_are_gaps) {
  const Stat stat = parse_stat("cpu  1 2 x 4\nctxt\n");
  BOOST_TEST(stat.ticks[kNice].value == 2u);
  BOOST_CHECK(stat.ticks[kSystem].gap == Gap::Malformed);
  BOOST_CHECK(stat.ticks[kIowait].gap == Gap::Unsupported);
  BOOST_CHECK(stat.context_switches.gap == Gap::Malformed);
  BOOST_CHECK(stat.forks.gap == Gap::Unsupported);
}

BOOST_AUTO_TEST_CASE(adds_the_counters_of_disks) {
  Stat stat;
  BOOST_CHECK(stat.disk_busy.gap == Gap::Unsupported);
  add_disk("  1012  30  2048  90  700  80  4096  50  0  1234  140\n", stat);
  add_disk("1 0 8 0 1 0 16 0 0 6 0 0 0 0 0 0 0\n", stat);
  BOOST_TEST(stat.disk_read.value == 2056u * 512);
  BOOST_TEST(stat.disk_write.value == 4112u * 512);
  BOOST_TEST(stat.disk_busy.value == 1'240'000'000u);
  add_disk("1 0 x 0 1 0 16 0 0 6\n", stat);
  add_disk("1 0 8 0 1 0 16 0 0 6\n", stat);
  BOOST_CHECK(stat.disk_read.gap == Gap::Malformed);
  BOOST_TEST(stat.disk_write.value == 4144u * 512);
}

BOOST_AUTO_TEST_CASE(reads_available_memory_and_load) {
  BOOST_TEST(parse_memory_available("MemTotal:  100 kB\nMemAvailable:   42 kB\n").value ==
             42u * 1024);
  BOOST_CHECK(parse_memory_available("MemTotal: 100 kB\n").gap == Gap::Unsupported);
  BOOST_CHECK(parse_memory_available("MemAvailable: x kB\n").gap == Gap::Malformed);
  BOOST_TEST(parse_load("4.12 3.00 2.00 2/125 9043\n").value == 4.12);
  BOOST_CHECK(parse_load("nan 3.00\n").gap == Gap::Malformed);
  BOOST_CHECK(parse_load("").gap == Gap::Malformed);
}

// Each option is set once; the text after its line is not read.
BOOST_AUTO_TEST_CASE(reads_options_of_the_kernel_configuration) {
  const TemporaryDirectory root;
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/stat") << kText;
  std::ofstream(root / "proc/config.gz") << "CONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n"
                                            "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n"
                                            "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n"
                                            "CONFIG_IRQ_TIME_ACCOUNTING=y\n"
                                            "# CONFIG_PARAVIRT_TIME_ACCOUNTING is not set\n";
  const LoadedPlugin plugin("host");
  const TestHost host(root.path(), {1, 1}, 0);
  SourceDriver driver(*plugin, 0, host);
  driver.collect_host();
  BOOST_TEST(driver.cell("host.cpu.irq_apart", 0) == "false");
  BOOST_TEST(driver.cell("host.cpu.steal_apart", 0) == "true");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace host_stat_test
