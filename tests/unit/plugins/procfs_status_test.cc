// Tests parsing five of the lines of status, and lists of CPUs.

#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <unistd.h>

#include <vector>

#include "plugins/procfs-sched/status.hpp"
#include "plugins/shared/text_formats.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace procfs_status_test {
using namespace ctprof::procfs;
namespace vocabulary = ctprof::vocabulary;
using ctprof::Gap;
using ctprof::parse_cpu_list;

namespace {

using ModuleWords = std::vector<std::uint64_t>;

ModuleWords cpus(std::string_view list) {
  ModuleWords words;
  BOOST_TEST(parse_cpu_list(list, words), list);
  return words;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(procfs_status_test)

BOOST_AUTO_TEST_CASE(parses_recorded_threads) {
  const std::string text = kernel_text("6.18/proc/1/task/1/status");
  const Status status = StatusFile::parse(text);
  BOOST_TEST(status.of<vocabulary::state>().value.value == "S");
  BOOST_TEST(status.of<vocabulary::nr_threads>().value == 1u);
  BOOST_TEST(status.of<vocabulary::voluntary_csw>().value == 285u);
  BOOST_TEST(status.of<vocabulary::nonvoluntary_csw>().value == 89u);
  BOOST_TEST(status.key<"Cpus_allowed_list">().value == "0-1");
  const std::string zombie = kernel_text("6.18/proc/154/task/154/status");
  BOOST_TEST(StatusFile::parse(zombie).of<vocabulary::state>().value.value == "Z");
}

BOOST_AUTO_TEST_CASE(a_thread_name_cannot_forge_a_line) {
  // The kernel's output for a thread that is named "x\nThreads:\t9".
  const Status status = StatusFile::parse("Name:\tx\\nThreads:\t9\nState:\tD (disk sleep)\n");
  BOOST_TEST(status.of<vocabulary::state>().value.value == "D");
  BOOST_TEST((status.of<vocabulary::nr_threads>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(missing_or_invalid_lines_are_malformed) {
  const Status none = StatusFile::parse("");
  BOOST_TEST((none.of<vocabulary::state>().gap == Gap::Malformed));
  BOOST_TEST((none.key<"Cpus_allowed_list">().gap == Gap::Malformed));
  const Status bad = StatusFile::parse(
      "State:\t\nThreads:\t-1\nvoluntary_ctxt_switches:\t1 2\nThreadsX:\t3\nState\n\n");
  BOOST_TEST((bad.of<vocabulary::state>().gap == Gap::Malformed));
  BOOST_TEST((bad.of<vocabulary::nr_threads>().gap == Gap::Malformed));
  BOOST_TEST((bad.of<vocabulary::voluntary_csw>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(parses_lists_of_cpus) {
  BOOST_TEST(cpus("0") == ModuleWords{1}, boost::test_tools::per_element());
  BOOST_TEST(cpus("0-3,8") == ModuleWords{0x10f}, boost::test_tools::per_element());
  BOOST_TEST(cpus("63-64") == (ModuleWords{std::uint64_t{1} << 63, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(cpus("65535").size() == 1024u);
  for (const char* bad : {"", "-", "a", "3-1", "0-", "-3", "0,,1", "0-1-2", "65536",
                          "0-99999999999", "18446744073709551615", " 1", "1 "}) {
    ModuleWords words;
    BOOST_TEST(!parse_cpu_list(bad, words), bad);
  }
}

BOOST_AUTO_TEST_CASE(the_affinity_system_call_agrees_with_libc) {
  cpu_set_t set;
  BOOST_REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  Affinity affinity;
  const auto mask = affinity.read_thread_mask(static_cast<std::uint64_t>(::gettid()));
  BOOST_REQUIRE(static_cast<bool>(mask));
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const bool in_mask =
        cpu / 64 < mask.value.size() && (mask.value[cpu / 64] >> (cpu % 64) & 1) != 0;
    BOOST_TEST(in_mask == static_cast<bool>(CPU_ISSET(cpu, &set)), cpu);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_thread_is_reported_as_exited) {
  Affinity affinity;
  BOOST_TEST((affinity.read_thread_mask(0x7ffffffe).gap == Gap::ThreadGone));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_status_test
