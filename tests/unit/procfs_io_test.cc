// io and schedstat: a few numbers each.

#define BOOST_TEST_MODULE procfs_io
#include <boost/test/unit_test.hpp>

#include "plugins/procfs-sched/io.hpp"
#include "plugins/procfs-sched/schedstat.hpp"
#include "tests/unit/kernel_text.hpp"

using namespace ctprof::procfs;
using ctprof::Gap;

BOOST_AUTO_TEST_CASE(io_of_a_recorded_thread) {
  const Io io = parse_io(kernel_text("6.18/proc/1/task/1/io"));
  BOOST_TEST(io.rchar.value == 6226u);
  BOOST_TEST(io.wchar.value == 21051u);
  BOOST_TEST(io.syscr.value == 26u);
  BOOST_TEST(io.syscw.value == 872u);
  BOOST_TEST((io.read_bytes && io.write_bytes && io.cancelled_write_bytes));
}

BOOST_AUTO_TEST_CASE(io_lines_one_by_one) {
  const Io io = parse_io(
      "rchar: 1\nwchar: x\nsyscr: 3\nread_bytes: 18446744073709551615\nwrite_bytes: -1\nunknown: "
      "4\n");
  BOOST_TEST(io.rchar.value == 1u);
  BOOST_TEST((io.wchar.gap == Gap::Malformed));
  BOOST_TEST(io.syscr.value == 3u);
  BOOST_TEST((io.syscw.gap == Gap::Malformed));
  BOOST_TEST(io.read_bytes.value == UINT64_MAX);
  BOOST_TEST((io.write_bytes.gap == Gap::Malformed));
  BOOST_TEST((io.cancelled_write_bytes.gap == Gap::Malformed));
}

BOOST_AUTO_TEST_CASE(schedstat_of_a_recorded_thread) {
  const Schedstat schedstat = parse_schedstat(kernel_text("6.18/proc/1/task/1/schedstat"));
  BOOST_TEST(schedstat.run_time_ns.value == 1888866514u);
  BOOST_TEST(schedstat.wait_time_ns.value == 366914864u);
  BOOST_TEST(schedstat.timeslices.value == 373u);
}

BOOST_AUTO_TEST_CASE(schedstat_that_is_cut_or_bad) {
  BOOST_TEST((parse_schedstat("").run_time_ns.gap == Gap::Malformed));
  const Schedstat cut = parse_schedstat("12 34\n56\n");
  BOOST_TEST(cut.wait_time_ns.value == 34u);
  BOOST_TEST((cut.timeslices.gap == Gap::Malformed));
  BOOST_TEST((parse_schedstat("1 -2 3\n").wait_time_ns.gap == Gap::Malformed));
}
