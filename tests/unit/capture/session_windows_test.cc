// Tests sessions with windows, on a host whose threads exit at the command of the test.

#include <boost/test/unit_test.hpp>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/registry/identity.hpp"
#include "tests/unit/capture/switchable_tree.hpp"
#include "tests/unit/support/fake_plugins.hpp"

namespace session_windows_test {
using namespace ctprof;
using namespace ctprof::fake;

namespace {

// Lists a host of one process whose thread ids the test sets.
struct TestLister : sdk::ListSource {
  static inline std::vector<std::uint64_t> tids;
  static constexpr std::int32_t kRank = 9;
  static constexpr auto kOffers =
      sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kStartTime, kOne);
  explicit TestLister(const sdk::Host&) {}
  void list(const sdk::Listing& listing) {
    const auto batch = listing.room();
    for (std::uint32_t row = 0; row < tids.size(); ++row) put(*batch, row, tids[row]);
    listing.commit(static_cast<std::uint32_t>(tids.size()));
  }
  static void put(const sdk::Batch& batch, std::uint32_t row, std::uint64_t tid) {
    batch.column(sdk::kTgid).put(row, std::uint64_t{1});
    batch.column(sdk::kTid).put(row, tid);
    batch.column(sdk::kComm).put(row, "thread");
    batch.column(sdk::kStartTime).put(row, std::uint64_t{7});
    batch.column(kOne).put(row, 100 * tid);
  }
};

struct TestExits : sdk::ExitedSource {
  static inline std::mutex mutex;  // the draining thread runs while the host is read
  static inline std::vector<std::uint64_t> tids;
  static inline std::uint64_t lost = 0;
  static constexpr auto kOffers =
      sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kStartTime, sdk::kEndedAt, kOne);
  explicit TestExits(const sdk::Host&) {}
  void start(const sdk::Window&) {}
  void stop() {}
  void drain(const sdk::Listing& listing) {
    const std::lock_guard lock(mutex);
    listing.count_lost(std::exchange(lost, 0));
    if (tids.empty()) return;
    const auto batch = listing.room();
    for (std::uint32_t row = 0; row < tids.size(); ++row) {
      TestLister::put(*batch, row, tids[row]);
      batch->column(sdk::kEndedAt).put(row, boottime_ns());
    }
    listing.commit(static_cast<std::uint32_t>(std::exchange(tids, {}).size()));
  }
};

std::vector<std::uint64_t> tids_of(const Snapshot& snapshot) {
  const auto tids = snapshot.tables[0].find(kTid)->u64();
  return {tids.begin(), tids.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session_windows_test)

BOOST_AUTO_TEST_CASE(consecutive_windows_share_the_reading_between_them) {
  using Tids = std::vector<std::uint64_t>;
  const Registry registry = fake::make_registry({make_fake_plugin<TestLister, TestExits>("host")});
  const SwitchableTree tree;
  auto session = Session::open(
      registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 1, .is_window = true});
  BOOST_REQUIRE(session);
  TestLister::tids = {1, 2, 3};
  BOOST_REQUIRE(session->begin());
  BOOST_TEST(session->threads() == 3u);
  TestLister::tids = {1, 3};
  TestExits::tids = {2};
  TestExits::lost = 4;
  session->drain();
  BOOST_TEST(session->count_exited_threads() == 1u);
  BOOST_TEST(session->count_lost_exits() == 4u);

  const auto first = session->next_window();
  BOOST_REQUIRE(first);
  BOOST_TEST((tids_of(**first) == Tids{1, 3, 2}));
  BOOST_TEST((*first)->window->living_threads == 2u);
  BOOST_TEST((*first)->window->exited_lost == 4u);
  BOOST_TEST((*first)->window->reports_exits);
  const std::uint64_t boundary = (*first)->meta.start.boottime_ns;
  BOOST_TEST(session->threads() == 2u);
  BOOST_TEST(session->count_exited_threads() == 0u);
  BOOST_TEST(session->count_lost_exits() == 0u);

  TestLister::tids = {1};
  TestExits::tids = {3};
  const auto last = session->end();
  BOOST_REQUIRE(last);
  BOOST_TEST((tids_of(*last) == Tids{1, 3}));
  BOOST_TEST(last->window->exited_lost == 0u);
  BOOST_TEST(last->window->opened_at.boottime_ns == boundary);
  BOOST_TEST(last->window->openings[0].find("one")->u64()[1] == 300u);
}

BOOST_AUTO_TEST_CASE(drains_exits_during_other_work) {
  const Registry registry = fake::make_registry({make_fake_plugin<TestLister, TestExits>("host")});
  const SwitchableTree tree;
  auto session = Session::open(
      registry, {.rootfs = tree.path(), .pids = {}, .metrics = {}, .jobs = 1, .is_window = true});
  BOOST_REQUIRE(session);
  TestLister::tids = {1};
  BOOST_REQUIRE(session->begin());
  const auto is_drained = [] {
    const std::lock_guard lock(TestExits::mutex);
    return TestExits::tids.empty();
  };
  {
    const std::lock_guard lock(TestExits::mutex);
    TestExits::tids = {2};
  }
  session->drain_during([&] {
    while (!is_drained()) std::this_thread::yield();
  });
  BOOST_TEST(session->count_exited_threads() == 1u);
  BOOST_REQUIRE(session->end());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace session_windows_test
