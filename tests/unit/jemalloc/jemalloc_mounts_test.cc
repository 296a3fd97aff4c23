// Tests finding the file system of a mapping, with recorded kernel text.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/mounts.hpp"

namespace jemalloc_mounts_test {
using namespace ctprof::jemalloc;

namespace {

constexpr std::string_view kMaps =
    "00400000-00401000 r--p 00000000 00:27 2                                  /tmp/mnt/file\n"
    "7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6\n"
    "7ffd1000-7ffe0000 rw-p 00000000 00:00 0                                  [stack]\n"
    "not a mapping\n";

constexpr std::string_view kMounts =
    "22 1 253:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "36 22 0:39 / /mnt/a\\040b rw,nosuid - fuse stuck rw,user_id=0\n"
    "37 22 0:40 / /mnt/\033[31mred rw - fuse other rw\n"
    "38 22 0:39 / /mnt/again rw - fuse stuck rw\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(jemalloc_mounts_test)

BOOST_AUTO_TEST_CASE(finds_mappings_of_files) {
  const auto ranges = parse_file_ranges(kMaps);
  BOOST_REQUIRE(ranges.size() == 2u);
  BOOST_TEST(find_device(ranges, 0x400800) == makedev(0, 0x27));
  BOOST_TEST(find_device(ranges, 0x7f5c3a200000) == makedev(0xfd, 1));
  BOOST_TEST(find_device(ranges, 0x401000) == 0u);
  BOOST_TEST(find_device(ranges, 0x7ffd2000) == 0u);
}

BOOST_AUTO_TEST_CASE(finds_mount_points) {
  BOOST_TEST(parse_mount_point(kMounts, makedev(253, 1)) == "/");
  // The last mount is on top.
  BOOST_TEST(parse_mount_point(kMounts, makedev(0, 39)) == "/mnt/again");
  BOOST_TEST(parse_mount_point(kMounts, makedev(0, 40)) == "/mnt/?[31mred");
  BOOST_TEST(parse_mount_point(kMounts, makedev(0, 41)).empty());
  BOOST_TEST(parse_mount_point(kMounts, 0).empty());
  BOOST_TEST(parse_mount_point("", makedev(253, 1)).empty());
}

BOOST_AUTO_TEST_CASE(finds_the_mount_points_of_this_process) {
  const ctprof::sdk::Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY));
  const auto self = static_cast<std::uint64_t>(::getpid());
  const auto ranges = read_file_ranges(proc.get(), self);
  BOOST_TEST(!ranges.empty());
  BOOST_TEST(read_file_ranges(-1, self).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_mounts_test
