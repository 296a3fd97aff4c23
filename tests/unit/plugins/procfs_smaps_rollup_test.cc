// Tests parsing smaps_rollup: sizes of a process below a header line.

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace procfs_smaps_rollup_test {
using ctprof::Gap;
using ctprof::procfs::parse_smaps_rollup;
using ctprof::procfs::parse_statm;

namespace {

constexpr const char* kHeader =
    "00400000-7ffe62e76000 ---p 00000000 00:00 0                              [rollup]\n";

bool parses(const std::string& text, std::map<std::string, std::uint64_t>& sizes) {
  std::vector<ctprof_entry> entries;
  const bool is_valid = parse_smaps_rollup(text, entries);
  sizes.clear();
  for (const ctprof_entry& entry : entries)
    sizes[std::string(entry.key.data, entry.key.size)] = entry.value;
  return is_valid;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(procfs_smaps_rollup_test)

BOOST_AUTO_TEST_CASE(parses_a_recorded_process) {
  std::map<std::string, std::uint64_t> sizes;
  BOOST_TEST(parses(kernel_text("6.18/proc/151/smaps_rollup"), sizes));
  BOOST_TEST(sizes.size() == 22u);
  BOOST_TEST(sizes.at("Rss") == 3056u);
  BOOST_TEST(sizes.at("Pss_Dirty") == 2626u);
  BOOST_TEST(sizes.at("Locked") == 0u);
}

BOOST_AUTO_TEST_CASE(ignores_lines_without_sizes) {
  std::map<std::string, std::uint64_t> sizes;
  BOOST_TEST(parses(std::string(kHeader) + "Rss: 1 kB\nTHPeligible: 0\nVmFlags: rd wr\n", sizes));
  BOOST_TEST(sizes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(rejects_malformed_text) {
  std::map<std::string, std::uint64_t> sizes;
  for (const char* bad : {"", "Rss: x kB\n", "Rss: kB\n", "Rss: -1 kB\n",
                          "Rss: 1 kB\nPss: 18446744073709551616 kB\n", ": 1 kB\n", "\n"})
    BOOST_TEST(!parses(bad, sizes), bad);
  BOOST_TEST(!parses(kHeader, sizes));
}

BOOST_AUTO_TEST_CASE(computes_the_resident_size) {
  const auto bytes = parse_statm("2113 811 702 176 0 122 0\n", 4096);
  BOOST_TEST((bytes && bytes.value == 811u * 4096));
  BOOST_TEST((parse_statm("0 0 0 0 0 0 0\n", 4096).gap == Gap::NotApplicable));
  for (const char* bad : {"", "\n", "12", "12 x 3\n", "-1 2 3\n", "12 9007199254740992 0\n"})
    BOOST_TEST((parse_statm(bad, 4096).gap == Gap::Malformed), bad);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_smaps_rollup_test
