// Captures with task-iter in one process, one after the other and concurrently, and checks that
// they leak no resources and do not read each other's records.
//
// Consecutive captures: 300, or the number in CTPROF_CAPTURES; one in ten captures all threads, the
// others only this process. After the first tenth, when all one-time allocations exist, the test
// records the resources of the process. At the end they may have grown by at most:
//
// - open files (descriptors and mappings): none
// - BPF programs, maps and links: none, as they belong to the session
// - bytes allocated by malloc: 4 KiB, less than a byte per capture for 10,000 captures
// - resident memory after malloc_trim: 2 MiB, because the rest depends on the largest capture and
//   on the threads of the host. This detects leaks outside of malloc: one page per capture is found
//   with 600 captures or more. It is not checked with AddressSanitizer, which keeps freed memory.
//
// The log contains the numbers (--log_level=message). For exact numbers of malloc, the program
// executes itself again without the per-thread caches of glibc: cached pieces count as allocated,
// and it takes thousands of captures to fill the caches.
//
// Without the right to load BPF programs, every case is skipped with a message.

#include <boost/test/unit_test.hpp>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "core/capture/capture.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"

namespace task_iter_captures_test {
using namespace ctprof;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

Registry task_iter() {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  LoadOptions options;
  options.shipped_directory = directory ? directory : ".";
  options.selected_plugins = std::vector<std::string>{"task-iter"};
  return Registry(*load_plugins(options));
}

// Returns whether task-iter listed the threads and filled their identity columns.
bool is_from_task_iter(const Snapshot& snapshot) {
  return snapshot.threads().find(kTid)->provenance.plugin == "task-iter";
}

std::size_t count_rows_of_this_process(const Snapshot& snapshot) {
  const auto tgids = snapshot.threads().find(kTgid)->u64();
  return static_cast<std::size_t>(
      std::count(tgids.begin(), tgids.end(), static_cast<std::uint64_t>(::getpid())));
}

std::size_t count_entries(const char* directory) {
  const std::filesystem::directory_iterator files(directory);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// Counts the lines of a file that contain one of the words; 0 if the file is missing.
std::size_t count_lines_with(const std::filesystem::path& path,
                             std::initializer_list<const char*> words) {
  std::size_t found = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    found += std::any_of(words.begin(), words.end(),
                         [&](const char* word) { return line.find(word) != line.npos; });
  return found;
}

std::size_t count_bpf_objects() {
  std::size_t found = count_lines_with("/proc/self/maps", {"bpf-map"});
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    found += count_lines_with("/proc/self/fdinfo" / file.path().filename(),
                              {"prog_id:", "map_id:", "link_id:"});
  return found;
}

std::size_t resident_memory() {
  ::malloc_trim(0);
  std::size_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct ResourceUse {
  std::size_t files = count_entries("/proc/self/fd");
  std::size_t bpf = count_bpf_objects();
  std::size_t allocated = ::mallinfo2().uordblks;
  std::size_t resident_bytes = resident_memory();
};

std::ostream& operator<<(std::ostream& out, const ResourceUse& resources) {
  return out << resources.files << " files, " << resources.bpf << " BPF objects, "
             << resources.allocated << " bytes allocated, " << resources.resident_bytes
             << " resident";
}

[[gnu::constructor]] void restart_without_malloc_caches(int, char** argv, char**) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  if (std::getenv(kTunables)) return;
  ::setenv(kTunables, "glibc.malloc.tcache_count=0", 1);
  ::execv("/proc/self/exe", argv);
}

int wanted_captures() {
  const char* count = std::getenv("CTPROF_CAPTURES");
  return count ? std::stoi(count) : 300;
}

Result<Snapshot> capture_once(bool only_this_process) {
  static const Registry registry = task_iter();
  return only_this_process ? capture_pid(registry, static_cast<std::uint64_t>(::getpid()))
                           : capture(registry, {});
}

boost::test_tools::assertion_result can_load_programs(boost::unit_test::test_unit_id) {
  const auto snapshot = capture_once(true);
  boost::test_tools::assertion_result can(snapshot && is_from_task_iter(*snapshot));
  can.message() << "needs leave to load BPF programs, and a kernel that takes ours";
  return can;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(task_iter_captures_test)

BOOST_AUTO_TEST_CASE(a_session_loads_its_program,
                     *boost::unit_test::precondition(can_load_programs)) {
  const Registry registry = task_iter();
  const auto session = Session::open(registry, {});
  BOOST_REQUIRE(session);
  BOOST_TEST(count_bpf_objects() > 0);
}

BOOST_AUTO_TEST_CASE(consecutive_captures_leak_nothing,
                     *boost::unit_test::precondition(can_load_programs)) {
  constexpr std::size_t kMaxAllocatedGrowth = 4 * 1024, kMaxResidentGrowth = 2 * 1024 * 1024;
  const int captures = wanted_captures();
  int done = 0;
  const auto run = [&done](int until) {
    for (; done < until; ++done) BOOST_REQUIRE(capture_once(done % 10 != 0));
  };
  run(captures / 10);
  const ResourceUse use_after_first;
  run(captures);
  const ResourceUse use_at_end;
  BOOST_TEST_MESSAGE("after " << captures / 10 << " captures: " << use_after_first << "; after "
                              << captures << ": " << use_at_end);
  BOOST_TEST(use_after_first.bpf == 0);
  BOOST_TEST(use_at_end.files == use_after_first.files);
  BOOST_TEST(use_at_end.bpf == use_after_first.bpf);
  BOOST_TEST(use_at_end.allocated < use_after_first.allocated + kMaxAllocatedGrowth);
  if (!kSanitized)
    BOOST_TEST(use_at_end.resident_bytes < use_after_first.resident_bytes + kMaxResidentGrowth);
}

BOOST_AUTO_TEST_CASE(concurrent_captures_are_independent,
                     *boost::unit_test::precondition(can_load_programs)) {
  constexpr int kThreads = 4, kCaptures = 25;
  std::vector<int> wrong(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int& count : wrong)
      threads.emplace_back([&count, all = &count == &wrong.front()] {
        for (int i = 0; i < kCaptures; ++i) {
          const auto snapshot = capture_once(!all);
          // A full capture has the four threads and the main thread; a capture of this process has
          // no other rows.
          const bool right =
              snapshot && is_from_task_iter(*snapshot) &&
              count_rows_of_this_process(*snapshot) >= 1 &&
              (all || count_rows_of_this_process(*snapshot) == snapshot->threads().rows);
          if (!right) ++count;
        }
      });
  }
  for (const int count : wrong) BOOST_TEST(count == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace task_iter_captures_test
