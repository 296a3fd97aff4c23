// Tests parsing /proc/diskstats, and the rows that the plugin lists.

#include <boost/test/unit_test.hpp>

#include <string>

#include "plugins/disk/diskstats.hpp"

namespace diskstats_test {
using namespace ctprof;
using namespace ctprof::disk;

namespace {

// Three formats: Linux 6.18, 4.18 and 4.9; all values differ.
constexpr const char* kText =
    "   8       0 sda 4 3 720 9 5 1 88 12 13 15 21 2 0 16 1 6 7\n"
    "   8       1 sda1 40 3 720 9 5 1 88 12 13 15 21 2 0 16 1\n"
    " 253       0 dm-0 400 3 720 9 5 1 88 12 13 15 21\n"
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(diskstats_test)

BOOST_AUTO_TEST_CASE(parses_every_number_in_its_unit) {
  const auto disks = parse_diskstats(kText);
  BOOST_REQUIRE(disks.size() == 4u);
  const Diskstats& sda = disks[0];
  BOOST_TEST(sda.device == "sda");
  BOOST_TEST(sda.reads.value == 4u);
  BOOST_TEST(sda.read_bytes.value == 720u * 512);
  BOOST_TEST(sda.read_time.value == 9'000'000u);
  BOOST_TEST(sda.writes.value == 5u);
  BOOST_TEST(sda.written_bytes.value == 88u * 512);
  BOOST_TEST(sda.write_time.value == 12'000'000u);
  BOOST_TEST(sda.in_flight.value == 13u);
  BOOST_TEST(sda.busy_time.value == 15'000'000u);
  BOOST_TEST(sda.queue_time.value == 21'000'000u);
  BOOST_TEST(sda.discards.value == 2u);
  BOOST_TEST(sda.flushes.value == 6u);
  BOOST_TEST(sda.flush_time.value == 7'000'000u);
}

BOOST_AUTO_TEST_CASE(numbers_of_newer_kernels_are_unsupported) {
  const auto disks = parse_diskstats(kText);
  BOOST_TEST(disks[1].discards.value == 2u);
  BOOST_CHECK(disks[1].flushes.gap == Gap::Unsupported);
  BOOST_TEST(disks[2].queue_time.value == 21'000'000u);
  BOOST_CHECK(disks[2].discards.gap == Gap::Unsupported);
  BOOST_CHECK(disks[2].flush_time.gap == Gap::Unsupported);
}

BOOST_AUTO_TEST_CASE(a_device_without_requests_was_not_used) {
  const auto disks = parse_diskstats(kText);
  BOOST_TEST(disks[0].was_used());
  BOOST_TEST(!disks[3].was_used());
  BOOST_TEST(parse_diskstats("8 0 sda 0 0 0 0 0 0 0 0 1 0 0\n")[0].was_used());
  BOOST_TEST(parse_diskstats("8 0 sda x 0 0 0 0 0 0 0 0 0 0\n")[0].was_used());
}

BOOST_AUTO_TEST_CASE(wrong_numbers_are_malformed_alone) {
  const auto disks = parse_diskstats(
      "8 0 sda -1 3 36028797018963968 9 5x\n"
      "8 0 \n"
      "\n"
      "rubbish\n");
  BOOST_REQUIRE(disks.size() == 1u);
  BOOST_CHECK(disks[0].reads.gap == Gap::Malformed);
  BOOST_CHECK(disks[0].read_bytes.gap == Gap::Malformed);  // its bytes do not fit into 64 bits
  BOOST_TEST(disks[0].read_time.value == 9'000'000u);
  BOOST_CHECK(disks[0].writes.gap == Gap::Malformed);
  BOOST_CHECK(disks[0].written_bytes.gap == Gap::Unsupported);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace diskstats_test
