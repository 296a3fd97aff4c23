// Files of other processes, opened only where they are what was mapped, and harmless.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/capture/target_files.hpp"

namespace ctprof::target_files_test {
namespace {

constexpr std::chrono::hours kUntilOpened(1);
const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());

sdk::Fd proc() { return sdk::Fd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/target_files_XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

FileId id_of(const std::string& path) {
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  return {status.st_dev, status.st_ino};
}

std::string read_of(const sdk::Fd& fd) {
  char text[64];
  const ssize_t got = fd ? ::pread(fd.get(), text, sizeof text, 0) : 0;
  return fd ? std::string(text, static_cast<std::size_t>(got)) : "none";
}

BOOST_AUTO_TEST_SUITE(target_files_test)

BOOST_AUTO_TEST_CASE(the_very_file_is_opened_or_none) {
  const Scratch scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  const FileId id = id_of(path);
  const auto open = [&](std::uint64_t process) {
    return read_of(TargetFiles(proc().get(), kUntilOpened).open(process, {}, path, id));
  };
  BOOST_TEST(open(kSelf) == "text");
  BOOST_TEST(open(1 << 22) == "text");  // no such process: under our own root
  std::filesystem::rename(path, scratch / "away");
  std::ofstream(path) << "another";
  BOOST_TEST(open(kSelf) == "none");
}

// A pipe would wait for somebody who writes to it, and a link may lead anywhere.
BOOST_AUTO_TEST_CASE(only_regular_files_are_opened) {
  const Scratch scratch;
  const std::string pipe = scratch / "pipe", file = scratch / "file", link = scratch / "link";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::ofstream(file) << "text";
  BOOST_REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  TargetFiles files(proc().get(), kUntilOpened);
  BOOST_TEST(read_of(files.open(kSelf, {}, pipe, id_of(pipe))) == "none");
  BOOST_TEST(read_of(files.open(kSelf, {}, link, id_of(file))) == "none");
  BOOST_TEST(files.held_up() == 0u);
}

BOOST_AUTO_TEST_CASE(maps_of_compilers_are_found) {
  const std::string path = "/tmp/perf-" + std::to_string(kSelf) + ".map";
  std::ofstream(path) << "1000 10 made\n";
  BOOST_TEST(TargetFiles(proc().get(), kUntilOpened).perf_map(kSelf) == "1000 10 made\n");
  std::filesystem::remove(path);
  BOOST_TEST(TargetFiles(proc().get(), kUntilOpened).perf_map(kSelf) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::target_files_test
