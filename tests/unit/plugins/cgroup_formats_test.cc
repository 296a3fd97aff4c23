// Tests the formats of cgroup files: limits, io.stat, and lines of keys and numbers.

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>

#include "plugins/cgroup/formats.hpp"
#include "plugins/shared/text_formats.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace cgroup_formats_test {
using namespace ctprof;
using namespace ctprof::cgroup;

namespace {

const std::string kService = "6.18/sys/fs/cgroup/ctp.slice/work.service/";

std::map<std::string, std::uint64_t> as_map(sdk::Entries entries) {
  std::map<std::string, std::uint64_t> map;
  for (const ctprof_entry& entry : entries)
    map[std::string(entry.key.data, entry.key.size)] = entry.value;
  return map;
}

using Map = std::map<std::string, std::uint64_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(cgroup_formats_test)

BOOST_AUTO_TEST_CASE(parses_limits) {
  BOOST_TEST(parse_limit("134217728\n").value == 134217728u);
  BOOST_TEST(parse_limit("0\n").value == 0u);
  BOOST_TEST(parse_limit("max\n").value == kNoLimit);
  for (const char* text : {"", "\n", "maximum\n", "-1\n", "1 2\n", "18446744073709551616\n"})
    BOOST_TEST((parse_limit(text).gap == Gap::Malformed), text);
}

BOOST_AUTO_TEST_CASE(parses_cpu_max) {
  const CpuMax recorded = parse_cpu_max(kernel_text(kService + "cpu.max"));
  BOOST_TEST(recorded.quota_us.value == 60000u);
  BOOST_TEST(recorded.period_us.value == 100000u);
  BOOST_TEST(parse_cpu_max("max 100000\n").quota_us.value == kNoLimit);
  const CpuMax half = parse_cpu_max("60000\n");
  BOOST_TEST(half.quota_us.value == 60000u);
  BOOST_TEST((half.period_us.gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(parses_every_key_of_a_flat_keyed_file) {
  const std::string text = kernel_text(kService + "memory.stat");
  std::vector<ctprof_entry> entries;
  BOOST_TEST(parse_flat_keyed(text, entries));
  BOOST_TEST(entries.size() ==
             static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  BOOST_TEST(as_map(entries).contains("pswpout"));
}

BOOST_AUTO_TEST_CASE(refuses_malformed_flat_keyed_files) {
  std::vector<ctprof_entry> entries;
  BOOST_TEST(parse_flat_keyed("low 0\nhigh 12\n", entries));
  BOOST_TEST((as_map(entries) == Map{{"low", 0}, {"high", 12}}));
  for (const char* text :
       {"", "\n", "low\n", "low \n", " 1\n", "low -1\n", "low 1\n\nhigh 2\n", "low 1 2\n"})
    BOOST_TEST(!parse_flat_keyed(text, entries), text);
}

BOOST_AUTO_TEST_CASE(parses_a_single_key) {
  const std::string text = kernel_text(kService + "cpu.stat");
  BOOST_TEST(find_flat_value(text, "nr_bursts").value == 2u);
  BOOST_TEST((find_flat_value(text, "nr_burst").gap == Gap::Unsupported));
  BOOST_TEST((find_flat_value("usage_usec -3\n", "usage_usec").gap == Gap::Malformed));
  BOOST_TEST((find_flat_value("", "usage_usec").gap == Gap::Unsupported));
}

BOOST_AUTO_TEST_CASE(parses_io_stat_of_a_recorded_cgroup) {
  const std::string text = kernel_text(kService + "io.stat");
  IoStat io;
  parse_io_stat(text, io);
  BOOST_TEST((as_map(io[IoStat::Rbytes].value) == Map{{"254:0", 6293504}}));
  BOOST_TEST((as_map(io[IoStat::Wbytes].value) == Map{{"254:0", 6291456}}));
  BOOST_TEST((as_map(io[IoStat::Rios].value) == Map{{"254:0", 14}}));
  BOOST_TEST((as_map(io[IoStat::Wios].value) == Map{{"254:0", 6}}));
  BOOST_TEST((as_map(io[IoStat::Dbytes].value) == Map{{"254:0", 0}}));
}

BOOST_AUTO_TEST_CASE(an_empty_io_stat_is_not_missing) {
  IoStat io;
  parse_io_stat("", io);
  BOOST_TEST((io[IoStat::Rbytes] && io[IoStat::Rbytes].value.empty()));
}

BOOST_AUTO_TEST_CASE(ignores_unknown_keys_in_io_stat) {
  IoStat io;
  parse_io_stat("8:0 8:16 rbytes=1 cost.usage=7 wbytes=2\n259:1 rbytes=3 use_delay=0\n", io);
  BOOST_TEST((as_map(io[IoStat::Rbytes].value) == Map{{"8:16", 1}, {"259:1", 3}}));
  BOOST_TEST((as_map(io[IoStat::Wbytes].value) == Map{{"8:16", 2}}));
}

BOOST_AUTO_TEST_CASE(a_malformed_key_of_io_stat_affects_only_its_metric) {
  IoStat io;
  parse_io_stat("8:0 rbytes=- wbytes=2\n", io);
  BOOST_TEST((io[IoStat::Rbytes].gap == Gap::Malformed));
  BOOST_TEST(io[IoStat::Wbytes].value.size() == 1u);
  parse_io_stat("rbytes=1\n", io);  // line without a device
  BOOST_TEST((io[IoStat::Rbytes].gap == Gap::Malformed));
  parse_io_stat("8:0 rbytes=1\n", io);
  BOOST_TEST(io[IoStat::Rbytes].value.size() == 1u);  // no entry of an earlier text remains
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cgroup_formats_test
