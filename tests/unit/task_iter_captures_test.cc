// Captures by task-iter in one process, one after the other and side by side: nothing is left behind, and none sees another's records.
//
// Without leave to load BPF programs every case is skipped, by name.

#define BOOST_TEST_MODULE task_iter_captures
#include <boost/test/unit_test.hpp>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/capture/capture.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"

using namespace ctprof;

namespace {

Registry task_iter() {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  LoadOptions options;
  options.own_directory = directory ? directory : ".";
  options.only = std::vector<std::string>{"task-iter"};
  return Registry(*load_plugins(options));
}

// Whether task-iter listed, and filled what it lists with.
bool is_ours(const Snapshot& snapshot) { return snapshot.threads().find(kTid)->provenance.plugin == "task-iter"; }

std::size_t own_rows(const Snapshot& snapshot) {
  const auto tgids = snapshot.threads().find(kTgid)->u64();
  return static_cast<std::size_t>(std::count(tgids.begin(), tgids.end(), static_cast<std::uint64_t>(::getpid())));
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::size_t allocated() { return ::mallinfo2().uordblks; }

Result<Snapshot> capture_once(bool ourselves) {
  Registry registry = task_iter();
  return ourselves ? capture_pid(registry, static_cast<std::uint64_t>(::getpid())) : capture(registry, {});
}

boost::test_tools::assertion_result may_load(boost::unit_test::test_unit_id) {
  const auto snapshot = capture_once(true);
  boost::test_tools::assertion_result can(snapshot && is_ours(*snapshot));
  can.message() << "needs leave to load BPF programs, and a kernel that takes ours";
  return can;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_left_behind, *boost::unit_test::precondition(may_load)) {
  constexpr int kCaptures = 300;
  constexpr std::size_t kSlack = 64 * 1024;
  for (int i = 0; i < 10; ++i) BOOST_REQUIRE(capture_once(true));
  const std::size_t files = open_files(), bytes = allocated();
  for (int i = 0; i < kCaptures; ++i) BOOST_REQUIRE(capture_once(true));
  BOOST_TEST(open_files() == files);
  BOOST_TEST(allocated() < bytes + kSlack);
}

BOOST_AUTO_TEST_CASE(captures_side_by_side, *boost::unit_test::precondition(may_load)) {
  constexpr int kThreads = 4, kCaptures = 25;
  std::vector<int> wrong(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int& count : wrong)
      threads.emplace_back([&count, all = &count == &wrong.front()] {
        for (int i = 0; i < kCaptures; ++i) {
          const auto snapshot = capture_once(!all);
          // The four, and who started them; of a process alone, no other's row.
          const bool right = snapshot && is_ours(*snapshot) && own_rows(*snapshot) >= 1 &&
                             (all || own_rows(*snapshot) == snapshot->threads().rows);
          if (!right) ++count;
        }
      });
  }
  for (const int count : wrong) BOOST_TEST(count == 0);
}
