// Tests parsing the file sched: both spellings of keys, times, and misleading headers.

#include <boost/test/unit_test.hpp>

#include <set>

#include "plugins/procfs-sched/sched.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace procfs_sched_test {
using namespace ctprof::procfs;
using ctprof::Gap;

namespace {

constexpr const char* kDashes =
    "-------------------------------------------------------------------\n";

std::string sched_text(const std::string& lines, const std::string& name = "x") {
  return name + " (7, #threads: 1)\n" + kDashes + lines;
}

bool check_value(const ctprof::sdk::Reading<std::uint64_t>& reading, std::uint64_t value) {
  return reading && reading.value == value;
}

std::uint64_t ns(std::string_view text) {
  bool negative = false;
  const auto reading = parse_dotted_ns(text, negative);
  BOOST_TEST(static_cast<bool>(reading), text);
  BOOST_TEST(!negative, text);
  return reading.value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(procfs_sched_test)

BOOST_AUTO_TEST_CASE(parses_the_short_keys_of_6_18) {
  const Sched sched = parse_sched(kernel_text("6.18/proc/1/task/1/sched"));
  BOOST_TEST(check_value(sched.key<"nr_migrations">(), 35));
  BOOST_TEST(check_value(sched.key<"policy">(), 0));
  BOOST_TEST(check_value(sched.key<"slice">(), 1400000));
  BOOST_TEST(check_value(sched.key<"ext.enabled">(), 0));
  BOOST_TEST(check_value(sched.key<"nr_wakeups">(), 284));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_local">(), 97));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_remote">(), 187));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_sync">(), 11));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_migrate">(), 26));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_affine">(), 9));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_affine_attempts">(), 148));
  BOOST_TEST(check_value(sched.key<"nr_forced_migrations">(), 0));
  BOOST_TEST(check_value(sched.key<"nr_failed_migrations_affine">(), 1));
  BOOST_TEST(check_value(sched.key<"nr_failed_migrations_running">(), 17));
  BOOST_TEST(check_value(sched.key<"nr_failed_migrations_hot">(), 2));
  BOOST_TEST(check_value(sched.key<"wait_sum">(), 467558028));
  BOOST_TEST(check_value(sched.key<"wait_count">(), 418));
  BOOST_TEST(check_value(sched.key<"wait_max">(), 44194813));
  BOOST_TEST(check_value(sched.key<"sum_sleep_runtime">(), 5277968778));
  BOOST_TEST(check_value(sched.key<"sleep_max">(), 3018789134));
  BOOST_TEST(check_value(sched.key<"sum_block_runtime">(), 406218817));
  BOOST_TEST(check_value(sched.key<"block_max">(), 93859369));
  BOOST_TEST(check_value(sched.key<"iowait_sum">(), 0));
  BOOST_TEST(check_value(sched.key<"iowait_count">(), 0));
  BOOST_TEST(check_value(sched.key<"exec_max">(), 8090866));
  BOOST_TEST(check_value(sched.key<"slice_max">(), 457956919));
  BOOST_TEST((sched.key<"core_forceidle_sum">().gap == Gap::SwitchedOff));
  BOOST_TEST(check_value(compute_voluntary_sleep(sched), 5277968778 - 406218817));
  BOOST_TEST(check_value(read_fair_slice(sched), 1400000));
  BOOST_TEST((read_ext_enabled(sched) && !read_ext_enabled(sched).value));
  BOOST_TEST(sched.negative_times == 0u);
}

BOOST_AUTO_TEST_CASE(parses_the_long_keys_of_5_10) {
  const Sched sched = parse_sched(kernel_text("5.10/proc/1/task/1/sched"));
  BOOST_TEST(check_value(sched.key<"nr_migrations">(), 50));
  BOOST_TEST(check_value(sched.key<"wait_sum">(), 89094193));
  BOOST_TEST(check_value(sched.key<"nr_wakeups_affine_attempts">(), 40));
  BOOST_TEST(check_value(sched.key<"nr_forced_migrations">(), 1));
  BOOST_TEST((sched.key<"slice">().gap == Gap::Unsupported));
  BOOST_TEST((read_ext_enabled(sched).gap == Gap::Unsupported));
  BOOST_TEST(static_cast<bool>(sched.key<"sum_sleep_runtime">()));
  BOOST_TEST(!compute_voluntary_sleep(sched));  // Linux 5.10 has no sum_block_runtime
}

BOOST_AUTO_TEST_CASE(parses_mixed_keys) {
  BOOST_TEST(check_value(parse_sched(sched_text("stats.wait_sum : 1.000002\n")).key<"wait_sum">(),
                         1000002));
}

BOOST_AUTO_TEST_CASE(without_schedstats_only_statistics_are_missing) {
  const Sched sched = parse_sched(kernel_text("6.18-schedstats-off/proc/151/task/151/sched"));
  for (std::size_t i = 0; i < kSchedKeys.size(); ++i)
    BOOST_TEST((sched[i].gap == (kSchedKeys[i].needs_schedstats ? Gap::SwitchedOff : Gap::None)),
               kSchedKeys[i].text);
}

BOOST_AUTO_TEST_CASE(only_fair_policies_have_a_slice) {
  for (const char* rt : {"165", "166", "168", "169"})  // FIFO, RR, IDLE, DEADLINE
    BOOST_TEST((read_fair_slice(
                    parse_sched(kernel_text(std::string("6.18/proc/151/task/") + rt + "/sched")))
                    .gap == Gap::NotApplicable),
               rt);
  for (const char* fair : {"170", "175"})  // EXT, OTHER with its own slice
    BOOST_TEST(static_cast<bool>(read_fair_slice(
                   parse_sched(kernel_text(std::string("6.18/proc/151/task/") + fair + "/sched")))),
               fair);
}

BOOST_AUTO_TEST_CASE(a_thread_name_cannot_forge_a_line) {
  for (const std::string& name : {std::string("x\nnr_wakeups:9"), std::string("x\n---------\nya"),
                                  std::string("a\n\nwait_sum:1.5")}) {
    const Sched sched = parse_sched(sched_text("nr_wakeups : 3\n", name));
    BOOST_TEST(check_value(sched.key<"nr_wakeups">(), 3));
    BOOST_TEST((sched.key<"wait_sum">().gap == Gap::SwitchedOff));
  }
}

BOOST_AUTO_TEST_CASE(ignores_similar_keys) {
  const Sched sched = parse_sched(sched_text(
      "enabled : 1\nother.enabled : 1\nx.ext.enabled : 1\neffective slice : 5\nslice of bread : "
      "6\nnr_wakeups_idle : 7\n"
      "nr_migrations_cold : 8\nno colon at all\ncurrent_node=0, numa_group_id=0\n: 9\n.: 10\n"));
  for (std::size_t i = 0; i < kSchedKeys.size(); ++i) BOOST_TEST(!sched[i], kSchedKeys[i].text);
}

BOOST_AUTO_TEST_CASE(converts_milliseconds_to_nanoseconds) {
  BOOST_TEST(ns("0.000000") == 0u);
  BOOST_TEST(ns("1.5") == 1500000u);
  BOOST_TEST(ns("1.000001") == 1000001u);
  BOOST_TEST(ns("1.0000019") == 1000001u);  // truncated, not rounded
  BOOST_TEST(ns("123") == 123u);            // without a dot: nanoseconds
  BOOST_TEST(ns("18446744073709.551615") == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(negative_times_become_zero_and_are_counted) {
  for (const char* text : {"-1.000000", "0.-00001", "-0.5", "-7", "-99999999999999999.0"}) {
    bool negative = false;
    BOOST_TEST(check_value(parse_dotted_ns(text, negative), 0), text);
    BOOST_TEST(negative, text);
  }
  BOOST_TEST(parse_sched(sched_text("wait_sum : -1.0\nwait_max : 0.-1\nsleep_max : 1.0\n"))
                 .negative_times == 2u);
}

BOOST_AUTO_TEST_CASE(invalid_numbers_are_malformed) {
  for (const char* text : {"", ".", "1.", ".5", "x", "1.x", "1.5x", "--1.0", "1.5.5",
                           "18446744073709.551616", "99999999999999999.0", " 1.0"}) {
    bool negative = false;
    BOOST_TEST((parse_dotted_ns(text, negative).gap == Gap::Malformed), text);
    BOOST_TEST(!negative, text);
  }
  BOOST_TEST(
      (parse_sched(sched_text("nr_wakeups : -3\n")).key<"nr_wakeups">().gap == Gap::Malformed));
  // No header.
  BOOST_TEST((parse_sched("nr_wakeups : 3\n").key<"nr_wakeups">().gap == Gap::Malformed));
  BOOST_TEST((parse_sched("").key<"policy">().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_sched_test
