// Tests which processes a recording selects, and reading the code that they have mapped.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/mapped_code.hpp"
#include "core/capture/requested_processes.hpp"
#include "tests/unit/support/files.hpp"

namespace mapped_code_test {
using namespace ctprof;
using namespace std::chrono_literals;

namespace {

// Timeout for files that can be read.
constexpr std::chrono::milliseconds kTimeout = 1h;

// A directory with the structure of /proc.
class FakeProc {
 public:
  FakeProc() : fd_(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  int fd() const { return fd_.get(); }
  std::string path(std::uint64_t pid, std::string_view file) const {
    const std::string process = directory_ / std::to_string(pid);
    std::filesystem::create_directories(process);
    return process + "/" + std::string(file);
  }
  void write(std::uint64_t pid, std::string_view file, std::string_view text) const {
    std::ofstream(path(pid, file)) << text;
  }

 private:
  TemporaryDirectory directory_;
  sdk::Fd fd_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(mapped_code_test)

BOOST_AUTO_TEST_CASE(reads_the_code_of_this_process) {
  const sdk::Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  MappedCode code(proc.get(), kTimeout);
  const auto own = static_cast<std::uint64_t>(::getpid());
  code.request(own);
  code.request(1u << 30);
  const auto taken = code.take();
  BOOST_TEST(taken.unreadable == 1);
  BOOST_REQUIRE(taken.processes.size() == 1);
  const ProcessCode& found = taken.processes.front();
  BOOST_TEST(found.tgid == own);
  BOOST_TEST(found.read_ns > 0);
  const auto here = reinterpret_cast<std::uint64_t>(&::getpid);
  BOOST_TEST(std::ranges::any_of(found.mappings, [&](const Mapping& mapping) {
    return mapping.start <= here && here < mapping.end && mapping.file.inode != 0;
  }));
  BOOST_TEST(code.take().processes.empty());
}

// If the main thread has exited, its maps file is empty.
BOOST_AUTO_TEST_CASE(reads_code_through_a_living_thread) {
  const FakeProc tree;
  tree.write(7, "maps", "");
  for (const char* thread : {"task/7", "task/9"})
    std::filesystem::create_directories(tree.path(7, thread));
  tree.write(7, "task/7/maps", "");
  tree.write(7, "task/9/maps", "1000-2000 r-xp 00000000 08:01 5   /bin/a\n");
  std::vector<std::uint64_t> seen;
  MappedCode code(tree.fd(), kTimeout,
                  [&](const ProcessCode& process) { seen.push_back(process.tgid); });
  code.request(7);
  const auto taken = code.take();
  BOOST_REQUIRE(taken.processes.size() == 1);
  BOOST_REQUIRE(taken.processes.front().mappings.size() == 1);
  BOOST_TEST(taken.processes.front().mappings.front().path == "/bin/a");
  BOOST_TEST(seen == std::vector<std::uint64_t>{7});
}

BOOST_AUTO_TEST_CASE(skips_processes_that_block_the_reader) {
  const FakeProc tree;
  const std::string pipe = tree.path(7, "maps");  // opening it blocks until a writer opens it
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  tree.write(8, "maps", "1000-2000 r-xp 00000000 08:01 5   /bin/a\n");
  MappedCode code(tree.fd(), 1ms);
  code.request(7);
  code.request(8);
  const auto taken = code.take();
  BOOST_TEST(taken.unreadable == 2);
  BOOST_TEST(taken.processes.empty());
}

// Between opening and reading, the process may map more or execute another program. Change records
// with a time report that.
BOOST_AUTO_TEST_CASE(mappings_have_the_time_of_opening_the_file) {
  const FakeProc tree;
  const std::string pipe = tree.path(7, "maps");
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  MappedCode code(tree.fd(), kTimeout);
  code.request(7);
  // Blocks until the reader opens it.
  std::optional<sdk::Fd> writer(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
  BOOST_REQUIRE(*writer);
  const std::uint64_t opened_ns = boottime_ns();
  const std::string_view text = "1000-2000 r-xp 00000000 08:01 5   /bin/a\n";
  BOOST_REQUIRE(::write(writer->get(), text.data(), text.size()) ==
                static_cast<ssize_t>(text.size()));
  writer.reset();
  const MappedCode::Batch taken = code.take();
  BOOST_REQUIRE(taken.processes.size() == 1);
  BOOST_TEST(taken.processes.front().mappings.size() == 1);
  BOOST_TEST(taken.processes.front().read_ns <= opened_ns);
}

BOOST_AUTO_TEST_CASE(limits_the_size_of_maps) {
  const FakeProc tree;
  std::string text;
  while (text.size() < (20u << 20))
    text += "1000-2000 rw-p 00000000 00:00 0 " + std::string(4000, 'x') + "\n";
  tree.write(7, "maps", text + "3000-4000 r-xp 00000000 08:01 5   /beyond\n");
  MappedCode code(tree.fd(), kTimeout);
  code.request(7);
  const auto taken = code.take();
  BOOST_REQUIRE(taken.processes.size() == 1);
  BOOST_TEST(taken.processes.front().mappings.empty());
}

BOOST_AUTO_TEST_CASE(wants_all_processes_unless_ids_are_specified) {
  const FakeProc tree;
  RequestedProcesses all({}, "", tree.fd());
  BOOST_TEST(all.contains(5));
  RequestedProcesses two({9, 5}, "", tree.fd());
  BOOST_TEST(two.contains(5));
  BOOST_TEST(two.contains(9));
  BOOST_TEST(!two.contains(7));
}

BOOST_AUTO_TEST_CASE(wants_processes_of_a_cgroup_and_its_descendants) {
  const FakeProc tree;
  tree.write(1, "cgroup", "0::/web\n");
  tree.write(2, "cgroup", "0::/web/worker\n");
  tree.write(3, "cgroup", "0::/website\n");
  RequestedProcesses wanted({}, "/web", tree.fd());
  BOOST_TEST(wanted.contains(1));
  BOOST_TEST(wanted.contains(2));
  BOOST_TEST(!wanted.contains(3));
  BOOST_TEST(!wanted.contains(4));
}

BOOST_AUTO_TEST_CASE(an_exited_child_is_classified_like_its_parent) {
  const FakeProc tree;
  tree.write(1, "cgroup", "0::/web\n");
  tree.write(2, "cgroup", "0::/other\n");
  tree.write(3, "cgroup", "0::/other\n");
  RequestedProcesses wanted({}, "/web", tree.fd());
  wanted.add_forked(10, 1);
  wanted.add_forked(11, 10);
  wanted.add_forked(12, 2);
  wanted.add_forked(3, 1);
  BOOST_TEST(wanted.contains(10));
  BOOST_TEST(wanted.contains(11));
  BOOST_TEST(!wanted.contains(12));
  BOOST_TEST(!wanted.contains(3));  // moved to another cgroup
  wanted.forget_exited(10);
  BOOST_TEST(!wanted.contains(10));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace mapped_code_test
