// Tests opening files through a child process, and the mount points of files that are not opened.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/stacks/time_limited_files.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::stacks_time_limited_files_test {
namespace {

constexpr std::chrono::hours kTimeout(1);

std::string read_of(const sdk::Fd& fd) {
  char text[64];
  const ssize_t count = fd ? ::pread(fd.get(), text, sizeof text, 0) : -1;
  return count < 0 ? "none" : std::string(text, static_cast<std::size_t>(count));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_time_limited_files_test)

BOOST_AUTO_TEST_CASE(opens_only_regular_files) {
  const TemporaryDirectory directory;
  const std::string file = directory / "file", pipe = directory / "pipe";
  std::ofstream(file) << "text";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  TimeLimitedFiles files(kTimeout);
  BOOST_TEST(read_of(files.open(file)) == "text");
  BOOST_TEST(read_of(files.open(pipe)) == "none");
  BOOST_TEST(read_of(files.open(directory.path())) == "none");
  BOOST_TEST(read_of(files.open(directory / "missing")) == "none");
  BOOST_TEST(read_of(files.open("")) == "none");
  BOOST_TEST(read_of(files.open("/" + std::string(5000, 'x'))) == "none");
  BOOST_TEST(read_of(files.open(file)) == "text");
  BOOST_TEST(files.unresponsive_paths().empty());
}

// sysfs is not on a disk, so its files are copied.
BOOST_AUTO_TEST_CASE(copies_files_that_are_not_on_disk) {
  TimeLimitedFiles files(kTimeout);
  const sdk::Fd copy = files.open("/sys/kernel/notes");
  BOOST_REQUIRE(copy);
  struct stat status {
  }, original{};
  BOOST_TEST(::fstat(copy.get(), &status) == 0);
  BOOST_TEST(::stat("/sys/kernel/notes", &original) == 0);
  BOOST_TEST(status.st_size == original.st_size);
  BOOST_TEST(status.st_dev != original.st_dev);
}

// A file that is not requested is not reported.
BOOST_AUTO_TEST_CASE(does_not_wait_when_it_is_interrupted) {
  int ends[2];
  BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const sdk::Fd stop(ends[0]);
  ::close(ends[1]);  // makes it readable
  TimeLimitedFiles files(kTimeout, stop.get());
  files.open("/dev/null");
  BOOST_TEST(files.unresponsive_paths().empty());
}

BOOST_AUTO_TEST_CASE(finds_the_mount_point_of_a_path) {
  const std::string mounts =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "23 22 0:30 / /mnt/a\\040b rw - nfs server:/ rw\n"
      "24 22 0:31 / /mnt rw - fuse x rw\n"
      "broken\n";
  BOOST_TEST(find_mount_point("/usr/bin/x", mounts) == "/");
  BOOST_TEST(find_mount_point("/mnt/x", mounts) == "/mnt/");
  BOOST_TEST(find_mount_point("/mnt/a b/x", mounts) == "/mnt/a b/");
  BOOST_TEST(find_mount_point("/mntx/y", mounts) == "/");
  BOOST_TEST(find_mount_point("/x", "") == "/");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_time_limited_files_test
