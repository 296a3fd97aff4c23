// Captures by task-iter in one process, one after the other and side by side: nothing is left
// behind, and none sees another's records.
//
// One after the other: 300, or as many as CTPROF_CAPTURES says, one in ten of all threads, the rest
// of our own. After the first tenth, when there is all that is made once, it is noted what the
// process holds, and at the end there must be no more of it:
//
//   open files, by descriptors and mappings: not one more; BPF programs, maps and links: none, for
//   they go with the session; bytes that malloc has given out: 4 KiB, less than a byte for each of
//   10,000 captures; resident memory, when malloc has given back what it can: 2 MiB, for what is
//   left follows the largest capture, and the host's threads are not ours to count. That is for
//   memory that is not malloc's: a page lost in each capture is seen from 600 captures on.
//   AddressSanitizer keeps back what was freed; there it is not judged.
//
// The figures are in the log (--log_level=message). For malloc's to be exact the program starts
// itself once more, without the lists of freed pieces that glibc keeps for each thread: pieces in
// them count as given out, and it takes thousands of captures until they are full.
//
// Without leave to load BPF programs every case is skipped, by name.

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
  options.own_directory = directory ? directory : ".";
  options.only = std::vector<std::string>{"task-iter"};
  return Registry(*load_plugins(options));
}

// Whether task-iter listed, and filled what it lists with.
bool is_ours(const Snapshot& snapshot) {
  return snapshot.threads().find(kTid)->provenance.plugin == "task-iter";
}

std::size_t own_rows(const Snapshot& snapshot) {
  const auto tgids = snapshot.threads().find(kTgid)->u64();
  return static_cast<std::size_t>(
      std::count(tgids.begin(), tgids.end(), static_cast<std::uint64_t>(::getpid())));
}

std::size_t entries(const char* directory) {
  const std::filesystem::directory_iterator files(directory);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// Lines of a file that have one of the words; none of a file that is gone.
std::size_t lines_with(const std::filesystem::path& path,
                       std::initializer_list<const char*> words) {
  std::size_t found = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    found += std::any_of(words.begin(), words.end(),
                         [&](const char* word) { return line.find(word) != line.npos; });
  return found;
}

std::size_t bpf_objects() {
  std::size_t found = lines_with("/proc/self/maps", {"bpf-map"});
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    found += lines_with("/proc/self/fdinfo" / file.path().filename(),
                        {"prog_id:", "map_id:", "link_id:"});
  return found;
}

std::size_t resident() {
  ::malloc_trim(0);
  std::size_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct Held {
  std::size_t files = entries("/proc/self/fd");
  std::size_t bpf = bpf_objects();
  std::size_t allocated = ::mallinfo2().uordblks;
  std::size_t resident_bytes = resident();
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.files << " files, " << held.bpf << " BPF objects, " << held.allocated
             << " bytes allocated, " << held.resident_bytes << " resident";
}

[[gnu::constructor]] void measure_exactly(int, char** argv, char**) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  if (std::getenv(kTunables)) return;
  ::setenv(kTunables, "glibc.malloc.tcache_count=0", 1);
  ::execv("/proc/self/exe", argv);
}

int wanted_captures() {
  const char* count = std::getenv("CTPROF_CAPTURES");
  return count ? std::stoi(count) : 300;
}

Result<Snapshot> capture_once(bool ourselves) {
  static const Registry registry = task_iter();
  return ourselves ? capture_pid(registry, static_cast<std::uint64_t>(::getpid()))
                   : capture(registry, {});
}

boost::test_tools::assertion_result may_load(boost::unit_test::test_unit_id) {
  const auto snapshot = capture_once(true);
  boost::test_tools::assertion_result can(snapshot && is_ours(*snapshot));
  can.message() << "needs leave to load BPF programs, and a kernel that takes ours";
  return can;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(task_iter_captures_test)

BOOST_AUTO_TEST_CASE(a_session_has_its_program_loaded, *boost::unit_test::precondition(may_load)) {
  const Registry registry = task_iter();
  const auto session = Session::open(registry, {});
  BOOST_REQUIRE(session);
  BOOST_TEST(bpf_objects() > 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind, *boost::unit_test::precondition(may_load)) {
  constexpr std::size_t kMoreAllocated = 4 * 1024, kMoreResident = 2 * 1024 * 1024;
  const int captures = wanted_captures();
  int done = 0;
  const auto run = [&done](int until) {
    for (; done < until; ++done) BOOST_REQUIRE(capture_once(done % 10 != 0));
  };
  run(captures / 10);
  const Held early;
  run(captures);
  const Held late;
  BOOST_TEST_MESSAGE("after " << captures / 10 << " captures: " << early << "; after " << captures
                              << ": " << late);
  BOOST_TEST(early.bpf == 0);
  BOOST_TEST(late.files == early.files);
  BOOST_TEST(late.bpf == early.bpf);
  BOOST_TEST(late.allocated < early.allocated + kMoreAllocated);
  if (!kSanitized) BOOST_TEST(late.resident_bytes < early.resident_bytes + kMoreResident);
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace task_iter_captures_test
