// Compares stacks that the kernel walked with walks of copies of the same stacks: for ordinary
// programs, for processes that change their mappings all the time, and for hostile processes.
//
// Every case is skipped where the kernel cannot walk (before Linux 6.1, or without privileges).

#define BOOST_TEST_MODULE kernel_walk
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

#include "plugins/shared/bpf_map.hpp"
#include "tests/record/walked_samples.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/own_mounts.hpp"
#include "tests/unit/support/files.hpp"

using namespace ctprof;
using namespace ctprof::walked;
using namespace std::chrono_literals;

namespace {

const on_cpu::Sampling kSampling{.frequency_hz = 997, .depth = 127, .stack_bytes = 32 * 1024};

// A child process that executes `work` or a command until this object is destroyed.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    ::_exit(0);
  }
  explicit Child(std::vector<std::string> command)
      : Child([&command] {
          std::vector<char*> words;
          for (std::string& word : command) words.push_back(word.data());
          words.push_back(nullptr);
          ::execvp(words[0], words.data());
        }) {}
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_;
};

int walk_error() {
  static const int error = Samples(kSampling, false).error();
  return error;
}

boost::test_tools::assertion_result can_walk(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(walk_error() == 0);
  result.message() << "the kernel cannot walk: " << std::strerror(walk_error());
  return result;
}

std::string describe_places(const Samples& samples, const std::vector<FrameLocation>& places) {
  std::ostringstream text;
  for (const FrameLocation& place : places)
    text << "  " << samples.path_of(place) << " " << place.file.inode << "+0x" << std::hex
         << place.offset << std::dec << (place.is_guessed ? " guessed" : "") << '\n';
  return text.str();
}

struct Comparison {
  std::size_t walked = 0, equal = 0, frames = 0, not_compared = 0, unmapped = 0;
};

// Compares both walks. If the copy ended before the root, only the frames that both have are
// compared.
bool is_same(const WalkedStack& walked) {
  const bool is_whole = walked.ending == WalkEnd::Root || walked.ending == WalkEnd::TooDeep;
  if (is_whole)
    return walked.by_kernel == walked.by_copy &&
           walked.is_deep == (walked.ending == WalkEnd::TooDeep);
  const std::size_t common = std::min(walked.by_kernel.size(), walked.by_copy.size());
  return std::equal(walked.by_copy.begin(),
                    walked.by_copy.begin() + static_cast<std::ptrdiff_t>(common),
                    walked.by_kernel.begin());
}

// Samples for `length`, and compares the stacks of `pids`, or of all processes if `pids` is empty.
Comparison compare(std::chrono::milliseconds length, const std::vector<std::uint32_t>& pids) {
  Samples samples(kSampling, true);
  samples.start();
  Comparison tally;
  const auto compare_stack = [&](const WalkedStack& walked) {
    if (!pids.empty() && std::ranges::find(pids, walked.tgid) == pids.end()) return;
    if (!walked.is_mapped)
      return void(++tally.unmapped);  // it was about to execute another
                                      // program
    ++tally.walked;
    tally.frames += walked.by_kernel.size();
    if (is_same(walked)) return void(++tally.equal);
    if (walked.ending == WalkEnd::Failed) ++tally.not_compared;
    if (tally.walked - tally.equal < 4)
      BOOST_TEST_MESSAGE(walked.tgid << " by the kernel:\n"
                                     << describe_places(samples, walked.by_kernel)
                                     << " by the copy, " << static_cast<int>(walked.ending) << ":\n"
                                     << describe_places(samples, walked.by_copy));
  };
  for (const auto end = std::chrono::steady_clock::now() + length;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms))
    samples.drain(compare_stack);
  samples.stop();
  samples.drain(compare_stack);
  const auto counts = samples.counts();
  BOOST_TEST_MESSAGE(tally.walked << " walked, " << tally.frames << " frames, " << tally.equal
                                  << " equal, " << tally.not_compared << " not compared; of all "
                                  << counts.walked << " walked, " << counts.copied << " given up, "
                                  << samples.lost() << " lost");
  return tally;
}

[[gnu::noinline]] int compute(int depth) {
  volatile int sum = depth;
  if (depth > 0) sum = sum + compute(depth - 1);
  for (int i = 0; depth == 0 && i < 10'000; ++i) sum = sum + i;
  return sum;
}

}  // namespace

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(walked_stacks_equal_the_walks_of_copies) {
  const Child python(
      {"python3", "-c", "def f(n): return n if n < 2 else f(n-1) + f(n-2)\nwhile 1: f(20)"});
  const Child bash(
      {"bash", "-c", "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)); fi; }; while :; do f 12; done"});
  const Child own([] {
    for (;;) compute(20);
  });
  const Comparison tally = compare(6s, {python.pid(), bash.pid(), own.pid()});
  BOOST_TEST(tally.walked > 100u);
  BOOST_TEST(tally.walked - tally.not_compared == tally.equal);
  BOOST_TEST(tally.not_compared == 0u);
  BOOST_TEST(tally.unmapped * 100 <= tally.walked);
}

// As in a container.
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(walks_stacks_of_programs_on_overlays) {
  const TemporaryDirectory scratch;
  own_mounts::make_layer_directories(scratch);
  std::filesystem::copy_file("/bin/bash", scratch / "lower/bash");
  const std::string program = scratch / "merged/bash";
  const Child bash([&] {
    if (own_mounts::enter_private_mounts() && own_mounts::mount_overlay(scratch))
      ::execl(program.c_str(), "bash", "-c",
              "f() { for i in 1 2 3; do :; done; }; while :; do f; done", nullptr);
  });
  const Comparison tally = compare(6s, {bash.pid()});
  BOOST_TEST(tally.walked > 100u);
  BOOST_TEST(tally.walked - tally.not_compared == tally.equal);
  BOOST_TEST(tally.not_compared * 100 <= tally.walked);
}

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(deep_stacks_are_marked) {
  const Child deep([] {
    for (;;) compute(500);
  });
  Samples samples(kSampling, false);
  samples.start();
  std::size_t walked = 0, deep_stacks = 0, wrong = 0;
  for (const auto end = std::chrono::steady_clock::now() + 3s;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms))
    samples.drain([&](const WalkedStack& stack) {
      if (stack.tgid != deep.pid()) return;
      ++walked;
      deep_stacks += stack.is_deep;
      wrong += stack.is_deep ? stack.by_kernel.size() != kSampling.depth
                             : stack.by_kernel.size() > kSampling.depth;
    });
  BOOST_TEST(walked > 100u);
  BOOST_TEST(deep_stacks > walked / 2);  // the recursion is deep most of the time
  BOOST_TEST(wrong == 0u);
}

// Walks of 500 frames at a high rate exceed the budget of a process.
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(a_process_whose_walks_cost_too_much_is_copied) {
  const Child deep([] {
    for (;;) compute(480);
  });
  on_cpu::Sampling sampling = kSampling;
  sampling.frequency_hz = 9000;
  sampling.stack_bytes = 256;
  Samples samples(sampling, false, WALK_MAX_FRAMES);
  samples.start();
  std::size_t walked = 0;
  const auto take = [&](const WalkedStack& stack) { walked += stack.tgid == deep.pid(); };
  for (const auto end = std::chrono::steady_clock::now() + 5s;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms))
    samples.drain(take);
  samples.stop();
  const auto counts = samples.counts();
  samples.end_window();
  const std::string remark = samples.describe_window();
  BOOST_TEST_MESSAGE(walked << " walked, " << counts.by_reason[WALK_OVER_BUDGET] << " refused, "
                            << counts.by_reason[WALK_TOO_LONG] << " too long; " << remark);
  BOOST_TEST(walked > 100u);
  BOOST_TEST(counts.by_reason[WALK_OVER_BUDGET] > 100u);
  BOOST_TEST(remark.find(" stacks of process ") != std::string::npos, remark);
  samples.end_window();
  BOOST_TEST(samples.describe_window() == "");
}

// Returns the map of a loaded program with this name, among the open files of this process.
int find_own_map(std::string_view name) {
  for (int fd = 3; fd < 1024; ++fd) {
    bpf_map_info info{};
    bpf_attr attributes{};
    attributes.info = {static_cast<std::uint32_t>(fd), sizeof info,
                       reinterpret_cast<std::uintptr_t>(&info)};
    if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0 && info.name == name) return fd;
  }
  return -1;
}

// A recorder that runs for days finds more files than the list can hold.
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(counts_stacks_through_files_that_cannot_be_listed) {
  Samples samples(kSampling, false);
  const int files = find_own_map("walk_files");
  BOOST_REQUIRE(files >= 0);
  const std::uint32_t no_module = 0;
  for (std::uint64_t inode = 1; inode <= WALK_MAX_FILES; ++inode) {
    walk_file file{};
    file.inode = inode;
    BOOST_REQUIRE(update_map(files, &file, &no_module));
  }
  const Child busy([] {
    for (;;) compute(20);
  });
  BOOST_TEST(samples.describe_window() == "");
  samples.start();
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (samples.describe_window().empty() && std::chrono::steady_clock::now() < end)
    samples.drain([](const WalkedStack&) {});
  BOOST_TEST(samples.describe_window().find("the list of files with unwind tables is full (8192") !=
             std::string::npos);
}

// Copies the library of the race `count` times. Each copy is called with a number of its own.
std::vector<std::string> copies_of_library(const std::string& directory, int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) {
    paths.push_back(directory + "/race" + std::to_string(i) + ".so");
    std::filesystem::copy_file(std::getenv("RACE_LIBRARY"), paths.back());
  }
  return paths;
}

struct RaceTally {
  std::size_t walked = 0, in_libraries = 0, wrong = 0;
};

// Samples a process whose threads map these files in turn at the same addresses. Checks that each
// leaf is attributed to the file that was mapped.
RaceTally sample_race(const std::vector<std::string>& libraries, std::chrono::milliseconds length) {
  constexpr std::uint64_t kFirstNumber = 0x5a0000;
  std::vector<std::string> command{std::getenv("RACE")};
  command.insert(command.end(), libraries.begin(), libraries.end());
  std::vector<std::uint64_t> inodes;
  for (const std::string& path : libraries) {
    struct stat status {};
    BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
    inodes.push_back(status.st_ino);
  }
  const Child child(command);
  on_cpu::Sampling sampling = kSampling;
  sampling.frequency_hz = 9000;
  sampling.stack_bytes = 256;
  Samples samples(sampling, true);
  samples.start();
  RaceTally tally;
  const auto compare_stack = [&](const WalkedStack& walked) {
    if (walked.tgid != child.pid()) return;
    ++tally.walked;
    const FrameLocation& leaf = walked.by_kernel.front();
    const bool is_in_library = std::ranges::find(inodes, leaf.file.inode) != inodes.end();
    const std::uint64_t number = walked.bp - kFirstNumber;
    if (!is_in_library || number >= inodes.size()) return;
    ++tally.in_libraries;
    tally.wrong += inodes[number] != leaf.file.inode;
  };
  for (const auto end = std::chrono::steady_clock::now() + length;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms))
    samples.drain(compare_stack);
  samples.stop();
  samples.drain(compare_stack);
  BOOST_TEST_MESSAGE(tally.walked << " walked, " << tally.in_libraries << " in the libraries, "
                                  << tally.wrong << " wrong; given up " << samples.counts().copied
                                  << ", lost " << samples.lost());
  return tally;
}

// TEST_SECONDS is the duration in seconds (default: 6).
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(no_frame_belongs_to_a_file_that_was_mapped_before) {
  const TemporaryDirectory directory;
  const char* seconds = std::getenv("TEST_SECONDS");
  const RaceTally tally = sample_race(copies_of_library(directory.path(), 3),
                                      std::chrono::seconds(seconds ? std::atoi(seconds) : 6));
  BOOST_TEST(tally.in_libraries > 300u);
  BOOST_TEST(tally.wrong == 0u);
}

// A hostile process may map any number of files: each has a table, or stacks are copied.
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(can_walk))
BOOST_AUTO_TEST_CASE(a_process_with_512_modules_is_walked_or_copied) {
  const TemporaryDirectory directory;
  const RaceTally tally = sample_race(copies_of_library(directory.path(), 512), 6s);
  BOOST_TEST(tally.wrong == 0u);
}
