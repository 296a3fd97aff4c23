// Tests parsing the fields of stat after the last parenthesis, whatever the name contains.

#include <boost/test/unit_test.hpp>

#include "plugins/procfs-sched/stat.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace procfs_stat_test {
using ctprof::Gap;
using ctprof::procfs::has_no_memory;
using ctprof::procfs::parse_stat;
using ctprof::procfs::Stat;
namespace vocabulary = ctprof::vocabulary;

namespace {

constexpr const char* kTail =
    " S 0 0 0 0 -1 4194560 322 7571 1 0 7 181 13 110 20 -5 1 0 48 2322432 379 18446744073709551615 "
    "4198400 5785993 "
    "140724626066304 0 0 0 "
    "0 4 65538 1 0 0 17 3 42 7 0 0 0 6141704 6178576 752619520 140724626067402 140724626067424 "
    "140724626067424 140724626067442 "
    "0\n";

void check_tail(const Stat& stat) {
  BOOST_TEST(stat.word<3>().value == "S");
  BOOST_TEST(stat.word<9>().value == 4194560u);
  BOOST_TEST(stat.of<vocabulary::minflt>().value == 322u);
  BOOST_TEST(stat.of<vocabulary::majflt>().value == 1u);
  BOOST_TEST(stat.of<vocabulary::utime_clock_ticks>().value == 7u);
  BOOST_TEST(stat.of<vocabulary::stime_clock_ticks>().value == 181u);
  BOOST_TEST(stat.of<vocabulary::priority>().value == 20);
  BOOST_TEST(stat.of<vocabulary::nice>().value == -5);
  BOOST_TEST(stat.of<vocabulary::processor>().value == 3);
  BOOST_TEST(stat.of<vocabulary::rt_priority>().value == 42u);
  BOOST_TEST(stat.word<41>().value == 7u);
  BOOST_TEST(static_cast<bool>(stat.word<41>()));
}

std::string with_field(int number, const std::string& text) {
  std::string stat = "1 (x)";
  for (int field = 3; field <= 52; ++field)
    stat += ' ' + (field == number ? text : std::string("0"));
  return stat + '\n';
}

}  // namespace

BOOST_AUTO_TEST_SUITE(procfs_stat_test)

BOOST_AUTO_TEST_CASE(skips_names_with_any_characters) {
  const std::string names[] = {"init", "a b) S (c", "tab\tnl\nbs\\x",   ")",
                               "",     ") R 1 (",   "\xc3\xa9\xff\xfe", "((((("};
  for (const std::string& name : names) BOOST_TEST_CONTEXT(name) {
      check_tail(parse_stat("178 (" + name + ")" + kTail));
    }
}

BOOST_AUTO_TEST_CASE(parses_recorded_threads) {
  const Stat deadline = parse_stat(kernel_text("6.18/proc/151/task/169/stat"));
  BOOST_TEST(deadline.of<vocabulary::priority>().value == -101);
  BOOST_TEST(deadline.word<41>().value == 6u);
  BOOST_TEST(has_no_memory(parse_stat(kernel_text("6.18/proc/2/task/2/stat"))));
  BOOST_TEST(has_no_memory(parse_stat(kernel_text("6.18/proc/154/task/154/stat"))));
  BOOST_TEST(!has_no_memory(parse_stat(kernel_text("6.18/proc/151/task/176/stat"))));
}

BOOST_AUTO_TEST_CASE(a_malformed_field_affects_only_itself) {
  for (const char* bad : {"", "-1", "1x", "18446744073709551616", "0x10", "+1"})
    BOOST_TEST_CONTEXT(bad) {
      const Stat stat = parse_stat(with_field(10, bad));
      BOOST_TEST((stat.of<vocabulary::minflt>().gap == Gap::Malformed));
      BOOST_TEST((stat.of<vocabulary::majflt>().gap == Gap::None));
    }
  BOOST_TEST(
      (parse_stat(with_field(19, "2147483648")).of<vocabulary::nice>().gap == Gap::Malformed));
  BOOST_TEST(parse_stat(with_field(19, "-2147483648")).of<vocabulary::nice>().value ==
             -2147483648LL);
  BOOST_TEST((parse_stat(with_field(41, "4294967296")).word<41>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(parses_the_existing_fields_of_truncated_text) {
  const std::string whole = kernel_text("6.1/proc/1/task/1/stat");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Stat stat = parse_stat(whole.substr(0, size));
    if (stat.word<41>()) BOOST_TEST(static_cast<bool>(stat.word<9>()));
  }
  BOOST_TEST((parse_stat("1 (init").word<3>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_stat_test
