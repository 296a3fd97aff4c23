// Tests parsing the files of cgroup v1: the lines of /proc/PID/cgroup, quotas and cpu.stat.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "plugins/cgroup-v1/cpu_bandwidth.hpp"
#include "plugins/cgroupfs/v1_lines.hpp"

namespace cgroup_v1_test {
using namespace ctprof;
using namespace ctprof::cgroup_v1;

namespace {

constexpr std::uint64_t kNoLimit = UINT64_MAX;
constexpr std::string_view kLines =
    "9:name=systemd:/init.scope\n4:cpu,cpuacct:/docker/a:b\n3:cpuset:/\n0::/unified\n";

// Reads a directory with these files.
CpuBandwidth read_files(const std::map<std::string, std::string>& files) {
  const auto root =
      std::filesystem::temp_directory_path() / ("ctprof-v1-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root);
  for (const auto& [name, text] : files) std::ofstream(root / name) << text;
  const sdk::Fd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  sdk::TextFile file;
  const CpuBandwidth found = read_bandwidth(file, directory.get());
  std::filesystem::remove_all(root);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cgroup_v1_test)

BOOST_AUTO_TEST_CASE(finds_the_line_of_a_controller) {
  const auto cpu = cgroupfs::find_v1_line(kLines, "cpu");
  BOOST_REQUIRE(cpu);
  BOOST_TEST(cpu->controllers == "cpu,cpuacct");
  BOOST_TEST(cpu->path == "/docker/a:b");
  BOOST_TEST(cgroupfs::find_v1_line(kLines, "cpuset")->path == "/");
}

BOOST_AUTO_TEST_CASE(finds_no_controller_in_the_v2_line) {
  for (const char* text : {"0::/\n", "0::/cpu\n", "", "cpu", "::", "4:cpuset:/\n", "x\n0::/cpu:/"})
    BOOST_TEST(!cgroupfs::find_v1_line(text, "cpu"), text);
  BOOST_TEST(!cgroupfs::find_v1_line(kLines, ""));
}

BOOST_AUTO_TEST_CASE(parses_quotas) {
  BOOST_TEST(parse_quota("20000\n").value.value == 20'000u);
  BOOST_TEST(parse_quota("-1\n").value.value == kNoLimit);
  for (const char* text : {"", "-2\n", "max\n", "20000 100000\n"})
    BOOST_CHECK(parse_quota(text).gap == Gap::Malformed);
}

BOOST_AUTO_TEST_CASE(reads_each_value_of_a_cgroup) {
  const CpuBandwidth found = read_files({{"cpu.cfs_quota_us", "20000\n"},
                                         {"cpu.cfs_period_us", "100000\n"},
                                         {"cpu.stat",
                                          "nr_periods 40\nnr_throttled 39\nthrottled_time "
                                          "3200000000\nnr_bursts 0\nburst_time 0\n"}});
  BOOST_TEST(found.quota_us.value.value == 20'000u);
  BOOST_TEST(found.period_us.value.value == 100'000u);
  BOOST_TEST(found.periods.value.value == 40u);
  BOOST_TEST(found.throttled_periods.value.value == 39u);
  BOOST_TEST(found.throttled_time.value.value == 3'200'000'000u);
  BOOST_TEST(found.is_limited());
}

BOOST_AUTO_TEST_CASE(distinguishes_cgroups_with_and_without_a_quota) {
  const std::string unused = "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
                    used = "nr_periods 4\nnr_throttled 0\nthrottled_time 0\n";
  BOOST_TEST(!read_files({{"cpu.cfs_quota_us", "-1\n"}, {"cpu.stat", unused}}).is_limited());
  BOOST_TEST(read_files({{"cpu.cfs_quota_us", "50000\n"}, {"cpu.stat", unused}}).is_limited());
  BOOST_TEST(read_files({{"cpu.cfs_quota_us", "-1\n"}, {"cpu.stat", used}}).is_limited());
  BOOST_TEST(read_files({{"cpu.cfs_quota_us", "x\n"}, {"cpu.stat", unused}}).is_limited());
  BOOST_TEST(!read_files({}).is_limited());
}

BOOST_AUTO_TEST_CASE(missing_and_malformed_values_are_gaps) {
  const CpuBandwidth found =
      read_files({{"cpu.cfs_quota_us", "20000\n"}, {"cpu.stat", "nr_periods x\nnr_throttled 1\n"}});
  BOOST_CHECK(found.period_us.gap == Gap::Unsupported);
  BOOST_CHECK(found.periods.gap == Gap::Malformed);
  BOOST_TEST(found.throttled_periods.value.value == 1u);
  BOOST_CHECK(found.throttled_time.gap == Gap::Unsupported);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cgroup_v1_test
