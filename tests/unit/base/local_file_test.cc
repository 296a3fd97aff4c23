// Tests which files can be read without waiting for a file server.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/base/local_file.hpp"
#include "ctprof/files.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/own_mounts.hpp"
#include "tests/unit/support/files.hpp"

namespace local_file_test {
using namespace ctprof;

namespace {

bool is_local_file(const std::string& path) {
  const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  BOOST_REQUIRE((fd && ::fstat(fd.get(), &status) == 0));
  return is_local(fd.get(), status.st_dev);
}

// Enters a root directory on an overlay whose layers are on two file systems, one of them in
// memory.
bool enter_overlay(const TemporaryDirectory& scratch) {
  if (::mount("tmpfs", (scratch / "lower").c_str(), "tmpfs", 0, nullptr) != 0) return false;
  std::ofstream(scratch / "lower/file") << "text";
  const std::string merged = scratch / "merged";
  return own_mounts::mount_overlay(scratch) && ::chroot(merged.c_str()) == 0 && ::chdir("/") == 0;
}

bool has_own_device(const std::string& path) {
  struct stat file {
  }, root{};
  return ::stat(path.c_str(), &file) == 0 && ::stat("/", &root) == 0 && file.st_dev != root.st_dev;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_file_test)

BOOST_AUTO_TEST_CASE(files_on_disk_and_in_memory_are_local) {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / "file") << "text";
  BOOST_TEST(is_local_file(scratch / "file"));
  BOOST_TEST(!is_local_file("/proc/self/status"));
  BOOST_TEST(!is_local_file("/sys/kernel/notes"));
}

// The file must not be opened before its type is known: opening a pipe would wait for its writer.
BOOST_AUTO_TEST_CASE(opens_only_regular_files_by_name) {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "file", pipe = scratch / "pipe";
  std::ofstream(file) << "text";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto name = [](const std::string& path) {
    return sdk::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  };
  struct stat status {};
  BOOST_TEST(!is_regular(name(pipe).get(), status));
  BOOST_TEST(!is_regular(name("/dev/null").get(), status));
  BOOST_TEST(!is_regular(name(scratch / "").get(), status));
  BOOST_TEST(!is_regular(-1, status));
  const sdk::Fd named = name(file);
  BOOST_REQUIRE(is_regular(named.get(), status));
  BOOST_TEST(status.st_size == 4);
  char text[8];
  BOOST_TEST(::read(named.get(), text, sizeof text) == -1);
  BOOST_TEST(::read(reopen_for_reading(named.get()).get(), text, sizeof text) == 4);
  BOOST_TEST(read_path_of_descriptor(named.get()) == file);
  BOOST_TEST(read_path_of_descriptor(-1) == "");
}

BOOST_AUTO_TEST_CASE(a_layer_of_the_root_directory_is_local, *own_mounts::needs_root()) {
  const TemporaryDirectory scratch;
  own_mounts::make_layer_directories(scratch);
  own_mounts::expect_on_mount([&] { return enter_overlay(scratch) && has_own_device("/file"); },
                              [] { return is_local_file("/file"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace local_file_test
