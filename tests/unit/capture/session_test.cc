// Tests many captures with one registry: each capture probes the host again and opens and closes
// each plugin once.

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/probed_host.hpp"
#include "tests/unit/capture/switchable_tree.hpp"
#include "tests/unit/support/fake_plugins.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace session_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

namespace fs = std::filesystem;

Registry procfs() {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  return Registry(*load_plugins({.shipped_directory = directory ? directory : ".",
                                 .directories = {},
                                 .selected_plugins = {{"procfs-sched"}}}));
}

// Loads all plugins of this project.
Registry load_registry() {
  const char* directory = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
  return Registry(*load_plugins({.shipped_directory = directory ? directory : ".",
                                 .directories = {},
                                 .selected_plugins = std::nullopt}));
}

// A process with one idle thread.
class Target {
 public:
  Target() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ~Target() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  CaptureOptions only_this_process() const {
    return {.rootfs = {}, .pids = {static_cast<std::uint64_t>(pid_)}, .metrics = {}, .jobs = 2};
  }

 private:
  pid_t pid_;
};

std::size_t count_open_files() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// Lists child processes of this process, running ones and zombies.
std::string list_children() {
  std::string all;
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    all.append(std::istreambuf_iterator<char>(list), {});
  }
  return all;
}

Gap gap_of_wakeups(const Snapshot& snapshot) {
  return snapshot.tables[0].find("nr_wakeups")->provenance.gap;
}

// Context of a plugin. Counts its instances.
struct CountedContext {
  static inline std::atomic<int> open_count = 0, opened_total = 0;
  explicit CountedContext(const sdk::Host&) { ++open_count, ++opened_total; }
  ~CountedContext() { --open_count; }
  int answer = 42;
};
struct FailingContext {
  explicit FailingContext(const sdk::Host&) { throw std::runtime_error("the device is missing"); }
};

// Fills a column with a value from the plugin's context.
struct ContextSource : OfferingSource<kOne> {
  explicit ContextSource(const sdk::Host& host)
      : OfferingSource(host), answer_(host.context<CountedContext>().answer) {}
  void collect(const sdk::Batch& batch) {
    auto column = batch.column(kOne);
    for (const sdk::Thread thread : batch.threads())
      column.put(thread, static_cast<std::uint64_t>(answer_));
  }
  int answer_;
};

constexpr std::uint64_t kListerValue = 1000;

// Lists threads 1 to 4 of process 1, and cannot see the values of every second thread.
struct EvenRowLister : sdk::ListSource {
  static constexpr std::int32_t kRank = 9;
  static constexpr auto kOffers =
      sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kStartTime, kOne, kTwo);
  explicit EvenRowLister(const sdk::Host&) {}
  void list(const sdk::Listing& listing) {
    const auto batch = listing.room();
    for (std::uint32_t row = 0; row < 4; ++row) {
      batch->column(sdk::kTgid).put(row, std::uint64_t{1});
      batch->column(sdk::kTid).put(row, std::uint64_t{row} + 1);
      batch->column(sdk::kComm).put(row, "thread");
      batch->column(sdk::kStartTime).put(row, std::uint64_t{7});
      put(batch->column(kOne), row);
      put(batch->column(kTwo), row);
    }
    listing.commit(4);
  }
  template <class C>
  static void put(C column, std::uint32_t row) {
    row % 2 == 0 ? column.put(row, kListerValue) : column.put(row, Gap::Unseen);
  }
};

// Returns a time later than all earlier readings of the clock.
std::uint64_t later_ns() {
  const std::uint64_t before = boottime_ns();
  std::uint64_t now = before;
  while (now == before) now = boottime_ns();
  return now;
}

// Reports when it read each thread, and an invalid time for every second one.
struct TimedSource : OfferingSource<kOne> {
  static inline std::vector<std::uint64_t> reported_ns;
  using OfferingSource::OfferingSource;
  static constexpr auto kOffers = sdk::offers(kOne, sdk::kReadAt);
  void collect(const sdk::Batch& batch) {
    auto read_at = batch.column(sdk::kReadAt);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      reported_ns.push_back(row % 2 == 0 ? later_ns() : UINT64_MAX);
      read_at.put(row, reported_ns.back());
    }
  }
};

// Writes Unseen although it is not a lister, which is an error.
struct UnseenSource : OfferingSource<kOne> {
  using OfferingSource::OfferingSource;
  void collect(const sdk::Batch& batch) {
    auto column = batch.column(kOne);
    for (const sdk::Thread thread : batch.threads()) column.put(thread, Gap::Unseen);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(session_test)

BOOST_AUTO_TEST_CASE(probes_a_switch_again_for_each_capture) {
  const SwitchableTree tree;
  const Registry registry = procfs();
  for (int i = 0; i < 100; ++i) {
    tree.set_switch(i % 2 != 0);
    const auto snapshot = capture(
        registry, {.rootfs = tree.path(), .pids = {}, .metrics = {{"nr_wakeups"}}, .jobs = 1});
    BOOST_REQUIRE(snapshot);
    // The fixture lacks the metric; SwitchedOff is reported only while the switch is off.
    BOOST_REQUIRE_EQUAL(name(gap_of_wakeups(*snapshot)),
                        i % 2 != 0 ? "Unsupported" : "SwitchedOff");
  }
}

BOOST_AUTO_TEST_CASE(opens_and_closes_each_plugin_once_per_capture) {
  const Registry registry = fake::make_registry(
      {fake::make_plugin_with_context<CountedContext, ContextSource>("keeper")});
  const SwitchableTree tree;
  for (int i = 1; i <= 3; ++i) {
    const auto snapshot =
        capture(registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 2});
    BOOST_REQUIRE(snapshot);
    BOOST_TEST(snapshot->tables[0].find("one")->u64()[0] == 42u);
    BOOST_TEST(CountedContext::opened_total == i);
    BOOST_TEST(CountedContext::open_count == 0);
  }
}

BOOST_AUTO_TEST_CASE(reports_why_a_plugin_cannot_be_opened) {
  const Registry registry = fake::make_registry(
      {fake::make_plugin_with_context<FailingContext, OfferingSource<kOne>>("failing")});
  const ProbedHost probed(registry, host_without_files());
  BOOST_CHECK(probed.find("one")->offers[0].refusal == Gap::SourceFailed);
  BOOST_TEST(probed.find("one")->offers[0].reason == "the device is missing");
}

BOOST_AUTO_TEST_CASE(the_next_offer_fills_cells_that_the_lister_cannot_see) {
  const Registry registry = fake::make_registry(
      {make_fake_plugin<EvenRowLister>("lister"), make_fake_plugin<OfferingSource<kOne>>("next")});
  const SwitchableTree tree;
  const auto snapshot =
      capture(registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 1});
  BOOST_REQUIRE(snapshot);
  const Column& one = *snapshot->tables[0].find("one");
  const Column& two = *snapshot->tables[0].find("two");
  BOOST_REQUIRE_EQUAL(one.rows(), 4u);
  for (std::size_t row = 0; row < 4; ++row) {
    BOOST_TEST(one.has_value(row));
    // The next offer fills in the thread id.
    BOOST_TEST(one.u64()[row] == (row % 2 == 0 ? kListerValue : row + 1));
    BOOST_TEST(name(two.gap(row)) == (row % 2 == 0 ? "None" : "Denied"));
  }
  const SourceCost& reserve = snapshot->meta.sources.back();
  BOOST_TEST(reserve.plugin == "next");
  BOOST_TEST(reserve.unseen_rows.value_or(0) == 2u);
}

BOOST_AUTO_TEST_CASE(a_source_reports_when_it_read) {
  const Registry registry = fake::make_registry({make_fake_plugin<TimedSource>("dates")});
  const auto snapshot =
      capture(registry, {.rootfs = fixture_path("6.18"), .pids = {}, .metrics = {}, .jobs = 1});
  BOOST_REQUIRE(snapshot);
  const std::uint64_t start = snapshot->meta.start.boottime_ns;
  BOOST_REQUIRE_EQUAL(snapshot->read_at.size(), TimedSource::reported_ns.size());
  BOOST_REQUIRE(snapshot->read_at.size() > 1);
  for (std::size_t row = 0; row < snapshot->read_at.size(); ++row)
    if (TimedSource::reported_ns[row] != UINT64_MAX)
      BOOST_TEST(start + snapshot->read_at[row] == TimedSource::reported_ns[row]);
    else
      BOOST_TEST(start + snapshot->read_at[row] < TimedSource::reported_ns[0]);  // time of listing
  BOOST_TEST(snapshot->threads().find(kReadAt) == nullptr);
}

BOOST_AUTO_TEST_CASE(only_a_lister_may_leave_cells_to_others) {
  const Registry registry = fake::make_registry({make_fake_plugin<UnseenSource>("shirker")});
  const SwitchableTree tree;
  const auto snapshot =
      capture(registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 1});
  BOOST_REQUIRE(snapshot);
  BOOST_TEST(name(snapshot->tables[0].find("one")->gap(0)) == "SourceFailed");
}

BOOST_AUTO_TEST_CASE(a_session_without_a_window_returns_its_first_reading) {
  const Registry registry = fake::make_registry({make_fake_plugin<OfferingSource<kOne>>("one")});
  const SwitchableTree tree;
  auto session =
      Session::open(registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 1});
  BOOST_REQUIRE(session);
  BOOST_REQUIRE(session->begin());
  session->drain();
  const auto snapshot = session->end();
  BOOST_REQUIRE(snapshot);
  BOOST_TEST(snapshot->tables[0].rows > 0u);
}

BOOST_AUTO_TEST_CASE(a_hundred_captures_leak_no_resources) {
  const Registry registry = load_registry();
  std::optional<Target> target(std::in_place);
  BOOST_REQUIRE(capture(registry, target->only_this_process()));
  const std::size_t files = count_open_files();
  for (int i = 0; i < 100; ++i) BOOST_REQUIRE(capture(registry, target->only_this_process()));
  BOOST_TEST(count_open_files() <= files);  // an earlier thread may have closed one
  target.reset();
  while (!list_children().empty()) std::this_thread::yield();  // killed helper processes
}

BOOST_AUTO_TEST_CASE(concurrent_sessions_share_nothing) {
  const Registry registry = load_registry();
  const Target target;
  auto one = Session::open(registry, target.only_this_process());
  auto two = Session::open(registry, target.only_this_process());
  BOOST_REQUIRE(one);
  BOOST_REQUIRE(two);
  // Each session has its own helper processes.
  BOOST_REQUIRE(one->begin());
  BOOST_REQUIRE(two->begin());
  const auto first = one->end();
  const auto second = two->end();
  BOOST_REQUIRE(first);
  BOOST_REQUIRE(second);
  BOOST_TEST(first->threads().rows > 0u);
  BOOST_TEST(first->threads().rows == second->threads().rows);
  for (const Column& column : first->threads().columns) {
    const Column* other = second->threads().find(column.def().name);
    BOOST_REQUIRE(other);
    BOOST_TEST((column.provenance.plugin == other->provenance.plugin), column.def().name);
  }
}

BOOST_AUTO_TEST_CASE(sessions_in_several_threads) {
  const Registry registry = load_registry();
  const Target target;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 10; ++round)
          taken += capture(registry, target.only_this_process()) ? 1 : 0;
      });
  }
  BOOST_TEST(taken == 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace session_test
