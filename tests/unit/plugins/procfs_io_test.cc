// Tests parsing the files io and schedstat.

#include <boost/test/unit_test.hpp>

#include "plugins/procfs-sched/thread_files.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace procfs_io_test {
using namespace ctprof::procfs;
namespace vocabulary = ctprof::vocabulary;
using ctprof::Gap;

BOOST_AUTO_TEST_SUITE(procfs_io_test)

BOOST_AUTO_TEST_CASE(parses_io_of_a_recorded_thread) {
  const auto io = IoFile::parse(kernel_text("6.18/proc/1/task/1/io"));
  BOOST_TEST(io.of<vocabulary::rchar>().value == 6226u);
  BOOST_TEST(io.of<vocabulary::wchar>().value == 21051u);
  BOOST_TEST(io.of<vocabulary::syscr>().value == 26u);
  BOOST_TEST(io.of<vocabulary::syscw>().value == 872u);
  BOOST_TEST((io.of<vocabulary::read_bytes>() && io.of<vocabulary::write_bytes>() &&
              io.of<vocabulary::cancelled_write_bytes>()));
}

BOOST_AUTO_TEST_CASE(parses_io_lines_independently) {
  const auto io = IoFile::parse(
      "rchar: 1\nwchar: x\nsyscr: 3\nread_bytes: 18446744073709551615\nwrite_bytes: -1\nunknown: "
      "4\n");
  BOOST_TEST(io.of<vocabulary::rchar>().value == 1u);
  BOOST_TEST((io.of<vocabulary::wchar>().gap == Gap::Malformed));
  BOOST_TEST(io.of<vocabulary::syscr>().value == 3u);
  BOOST_TEST((io.of<vocabulary::syscw>().gap == Gap::Malformed));
  BOOST_TEST(io.of<vocabulary::read_bytes>().value == UINT64_MAX);
  BOOST_TEST((io.of<vocabulary::write_bytes>().gap == Gap::Malformed));
  BOOST_TEST((io.of<vocabulary::cancelled_write_bytes>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(parses_schedstat_of_a_recorded_thread) {
  const auto schedstat = SchedstatFile::parse(kernel_text("6.18/proc/1/task/1/schedstat"));
  BOOST_TEST(schedstat.of<vocabulary::run_time_ns>().value == 1888866514u);
  BOOST_TEST(schedstat.of<vocabulary::wait_time_ns>().value == 366914864u);
  BOOST_TEST(schedstat.of<vocabulary::timeslices>().value == 373u);
}

BOOST_AUTO_TEST_CASE(rejects_truncated_or_malformed_schedstat) {
  BOOST_TEST((SchedstatFile::parse("").of<vocabulary::run_time_ns>().gap == Gap::Malformed));
  const auto cut = SchedstatFile::parse("12 34\n56\n");
  BOOST_TEST(cut.of<vocabulary::wait_time_ns>().value == 34u);
  BOOST_TEST((cut.of<vocabulary::timeslices>().gap == Gap::Malformed));
  BOOST_TEST(
      (SchedstatFile::parse("1 -2 3\n").of<vocabulary::wait_time_ns>().gap == Gap::Malformed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace procfs_io_test
