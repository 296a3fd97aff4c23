// Tests the paths of cgroups below a mount point, and the parsing of mountinfo.

#include <boost/test/unit_test.hpp>

#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/path.hpp"

namespace cgroupfs_path_test {
using namespace ctprof::cgroupfs;
using ctprof::Gap;

namespace {

// Returns the path below the mount point, or "-" if there is none.
std::string shown_path_below_mount(std::string_view mount_root, std::string_view path,
                                   std::string_view branch = {}) {
  const auto place = path_below_mount(mount_root, path, branch);
  return place ? place.value : place.gap == Gap::Unsupported ? "-" : "?";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cgroupfs_path_test)

BOOST_AUTO_TEST_CASE(maps_paths_of_a_whole_hierarchy) {
  BOOST_TEST(shown_path_below_mount("/", "/") == ".");
  BOOST_TEST(shown_path_below_mount("/", "/system.slice/ssh.service") ==
             "system.slice/ssh.service");
  BOOST_TEST(shown_path_below_mount("/", "/two words /q\"\\x2d \xff (deleted)") ==
             "two words /q\"\\x2d \xff (deleted)");
}

BOOST_AUTO_TEST_CASE(rejects_paths_outside_of_the_mount) {
  BOOST_TEST(shown_path_below_mount("/", "/..") == "-");
  BOOST_TEST(shown_path_below_mount("/", "/../../other") == "-");
  BOOST_TEST(shown_path_below_mount("/..", "/../../other") == "-");
  BOOST_TEST(shown_path_below_mount("/docker/1", "/docker/2") == "-");
  BOOST_TEST(shown_path_below_mount("/docker/1", "/docker") == "-");
  BOOST_TEST(shown_path_below_mount("/docker/1", "/docker/12") == "-");
}

BOOST_AUTO_TEST_CASE(maps_paths_of_a_partial_mount) {
  BOOST_TEST(shown_path_below_mount("/docker/1", "/docker/1") == ".");
  BOOST_TEST(shown_path_below_mount("/docker/1", "/docker/1/a/b") == "a/b");
  BOOST_TEST(shown_path_below_mount("/../neighbour", "/../neighbour/a") == "a");
  BOOST_TEST(shown_path_below_mount("/../neighbour", "/a", "x") == "-");
}

BOOST_AUTO_TEST_CASE(maps_paths_of_a_mount_above_the_namespace_root) {
  BOOST_TEST(shown_path_below_mount("/../..", "/../..") == ".");
  BOOST_TEST(shown_path_below_mount("/../..", "/../../system.slice/x") == "system.slice/x");
  BOOST_TEST(shown_path_below_mount("/../..", "/../x") == "-");  // below an unknown name
  BOOST_TEST(shown_path_below_mount("/../..", "/../x", "docker/1") == "docker/x");
  BOOST_TEST(shown_path_below_mount("/../..", "/", "docker/1") == "docker/1");
  BOOST_TEST(shown_path_below_mount("/../..", "/a/b", "docker/1") == "docker/1/a/b");
  BOOST_TEST(shown_path_below_mount("/../..", "/a", "docker") == "-");  // an impossible branch
}

// No opened path leads upwards, whatever the cgroup path contains.
BOOST_AUTO_TEST_CASE(rejects_parent_components) {
  BOOST_TEST(shown_path_below_mount("/", "/a/../../../etc") == "-");
  BOOST_TEST(shown_path_below_mount("/", "/a/../b") == "b");
  BOOST_TEST(shown_path_below_mount("/", "//a/./b/") == "a/b");
  BOOST_TEST(shown_path_below_mount("/", "relative") == "relative");
  BOOST_TEST(shown_path_below_mount("/", "") == ".");
  BOOST_TEST(shown_path_below_mount("/", "/..x/...") == "..x/...");
}

BOOST_AUTO_TEST_CASE(finds_the_roots_of_mounts) {
  constexpr std::string_view kMountinfo =
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
      "41 31 0:38 /../../.. /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
      "141 31 0:38 /two\\040words\\134x /mnt rw,relatime shared:1 - cgroup2 cgroup2 rw\n";
  BOOST_TEST(root_of_mount(kMountinfo, "41") == "/../../..");
  BOOST_TEST(root_of_mount(kMountinfo, "141") == "/two words\\x");
  BOOST_TEST(root_of_mount(kMountinfo, "1") == "");
  BOOST_TEST(root_of_mount("", "41") == "");
  BOOST_TEST(root_of_mount("41", "41") == "");
}

BOOST_AUTO_TEST_CASE(splits_words) {
  BOOST_TEST(has_word("cpuset cpu io", "cpu"));
  BOOST_TEST(has_word("cpu", "cpu"));
  BOOST_TEST(!has_word("cpuset io", "cpu"));
  BOOST_TEST(!has_word("", "cpu"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cgroupfs_path_test
