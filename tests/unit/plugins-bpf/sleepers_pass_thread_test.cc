// Tests the schedule of passes over sleepers, and passes whose thread is blocked by a process.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include "plugins/sleepers/pass_thread.hpp"

namespace sleepers_pass_thread_test {
using namespace ctprof::sleepers;

namespace {

Sleeper sleeper_of(std::uint32_t process) {
  Sleeper one;
  one.tgid = one.tid = process;
  return one;
}

// Counts its passes, and finds one sleeper in each.
struct CountingSampler : Sampler {
  explicit CountingSampler(std::atomic<int>& counted) : passes(counted) {}
  void sample(std::uint32_t round, Pass& pass) override {
    rounds.insert(round);
    nice = ::getpriority(PRIO_PROCESS, 0);
    ++passes;
    pass.changed_sleepers.push_back(sleeper_of(7));
  }
  std::uint32_t current_process() const override { return 0; }

  std::atomic<int>& passes;
  inline static std::set<std::uint32_t> rounds;  // read only after `passes` was counted
  inline static int nice;
};

// Finds sleepers in processes 7, 41, 42 and 8, some of which never answer. A thread that waits for
// one continues after take_over(), as if the process exited.
struct BlockedSampler : Sampler {
  explicit BlockedSampler(std::set<std::uint32_t> blocking_tgids)
      : avoided(), silent_processes(std::move(blocking_tgids)) {}
  void sample(std::uint32_t, Pass& pass) override {
    next = 0;
    resume(pass);
  }
  void resume(Pass& pass) override {
    constexpr std::array<std::uint32_t, 4> kProcesses{7, 41, 42, 8};
    for (; next < kProcesses.size(); ++next) {
      const std::uint32_t process = kProcesses[next];
      if (silent_processes.contains(process) && !avoided.contains(process)) {
        blocking_process = process;
        blocking_process.wait(process);
        throw AbandonedPass();
      }
      pass.changed_sleepers.push_back(sleeper_of(process));
    }
  }
  std::uint32_t current_process() const override { return blocking_process; }
  bool take_over(std::uint32_t process, Pass&) override {
    if (!blocking_process.compare_exchange_strong(process, 0)) return false;
    avoided.insert(process);
    blocking_process.notify_all();
    return true;
  }

  std::set<std::uint32_t> avoided, silent_processes;
  std::size_t next = 0;
  std::atomic<std::uint32_t> blocking_process{0};
};

std::unique_ptr<Pass> wait_for_pass(PassThread& watch) {
  for (;;) {
    if (auto pass = watch.next_pass()) return pass;
    std::this_thread::yield();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sleepers_pass_thread_test)

BOOST_AUTO_TEST_CASE(a_budget_increases_the_pause) {
  const PassSchedule unlimited{.period_ns = 100, .cpus = 2};
  BOOST_TEST(compute_next_due(unlimited, 1000, 1'000'000) == 1100u);
  const PassSchedule limited{.period_ns = 100, .budget_ppm = 10'000, .cpus = 2};  // 1 % of two CPUs
  BOOST_TEST(compute_next_due(limited, 1000, 1) == 1100u);
  BOOST_TEST(compute_next_due(limited, 1000, 10) == 1500u);
}

BOOST_AUTO_TEST_CASE(waits_for_a_single_pass) {
  std::atomic<int> passes{0};
  PassThread watch([&] { return std::make_unique<CountingSampler>(passes); },
                   {.period_ns = 1'000'000, .is_single_pass = true});
  watch.begin();
  BOOST_TEST((watch.next_pass() != nullptr));
  BOOST_TEST((watch.next_pass() == nullptr));
  watch.stop();
  BOOST_TEST(passes == 1);
}

// The first pass of a new round reports all threads completely, which takes the longest.
BOOST_AUTO_TEST_CASE(skips_passes_while_none_are_taken) {
  constexpr int kMaxPending = static_cast<int>(PassThread::kMaxPendingPasses);
  constexpr std::uint64_t kLeftOut = 20;
  std::atomic<int> passes{0};
  CountingSampler::rounds.clear();
  PassThread watch([&] { return std::make_unique<CountingSampler>(passes); },
                   {.period_ns = 1'000'000});
  watch.begin();
  while (passes < kMaxPending) std::this_thread::yield();
  watch.take_counts();
  PassThread::PassCounts account;
  while (passes == kMaxPending && account.omitted < kLeftOut) {
    const PassThread::PassCounts more = watch.take_counts();
    account.omitted += more.omitted;
    account.unsampled += more.unsampled;
  }
  BOOST_TEST(passes == kMaxPending);
  BOOST_TEST(account.unsampled == account.omitted);  // one sleeper each
  for (int pass_count = 0; pass_count <= kMaxPending; ++pass_count) wait_for_pass(watch);
  watch.stop();
  BOOST_TEST(passes > kMaxPending);
  BOOST_TEST(CountingSampler::rounds.size() == 1u);
}

BOOST_AUTO_TEST_CASE(passes_have_priority_if_permitted) {
  constexpr int kHighest = -20;
  const int own = ::getpriority(PRIO_PROCESS, 0);
  bool is_allowed = false;
  std::thread([&] { is_allowed = ::setpriority(PRIO_PROCESS, 0, kHighest) == 0; }).join();
  std::atomic<int> passes{0};
  PassThread watch([&] { return std::make_unique<CountingSampler>(passes); },
                   {.period_ns = 1'000'000, .is_single_pass = true});
  watch.begin();
  watch.next_pass();
  watch.stop();
  BOOST_TEST(CountingSampler::nice == (is_allowed ? kHighest : own));
  BOOST_TEST(::getpriority(PRIO_PROCESS, 0) == own);
}

BOOST_AUTO_TEST_CASE(windows_follow_each_other) {
  std::atomic<int> passes{0};
  PassThread watch([&] { return std::make_unique<CountingSampler>(passes); },
                   {.period_ns = 1'000'000});
  watch.begin();
  auto pass = wait_for_pass(watch);
  BOOST_TEST(pass->window == 0u);
  watch.return_pass(std::move(pass), 0);
  const std::uint32_t next = watch.end_window();
  BOOST_TEST(next == 1u);
  do pass = wait_for_pass(watch);
  while (pass->window == 0);
  BOOST_TEST(pass->window == 1u);
  BOOST_TEST(pass->sleepers() == 1u);  // the reused pass was cleared
}

// Each pass is complete: sleepers found before the block, and those found after it.
BOOST_AUTO_TEST_CASE(continues_a_pass_that_a_process_blocks) {
  for (const bool once : {false, true}) BOOST_TEST_CONTEXT(once) {
      PassThread watch(
          [] {
            return std::make_unique<BlockedSampler>(std::set<std::uint32_t>{41, 42});
          },
          {.period_ns = 1'000'000, .is_single_pass = once, .read_timeout_ns = 1'000'000});
      watch.begin();
      const auto pass = wait_for_pass(watch);
      BOOST_REQUIRE(pass->sleepers() == 4u);
      BOOST_TEST(pass->changed_sleepers[0].tgid == 7u);
      BOOST_TEST(pass->changed_sleepers[3].tgid == 8u);
      BOOST_TEST(pass->window == 0u);
      BOOST_TEST((watch.avoided_processes() == std::set<std::uint32_t>{41, 42}));
    }
}

// Otherwise the window would end without any stack.
BOOST_AUTO_TEST_CASE(a_window_waits_for_its_first_pass) {
  PassThread watch([] { return std::make_unique<BlockedSampler>(std::set<std::uint32_t>{42}); },
                   {.period_ns = 1'000'000, .is_single_pass = true, .read_timeout_ns = 1'000'000});
  watch.begin();
  BOOST_TEST(watch.end_window() == 1u);
  const auto pass = watch.next_pass();
  BOOST_REQUIRE(pass);
  BOOST_TEST(pass->window == 0u);
  BOOST_TEST(pass->sleepers() == 4u);
}

// A blocked system call may still write into its buffer when it returns, so the copies are moved.
BOOST_AUTO_TEST_CASE(copies_move_away_from_a_blocked_system_call) {
  CopyBuffer bytes;
  std::uint8_t* buffer = bytes.reserve(0, 16);
  std::ranges::fill(std::span(buffer, 16), std::uint8_t{1});
  const auto kept = bytes.shared();
  bytes.move_away(8);
  std::ranges::fill(std::span(buffer, 16), std::uint8_t{2});
  BOOST_TEST(bytes.reserve(8, 8) != buffer);
  for (const std::uint8_t byte : bytes.part(0, 8)) BOOST_TEST(byte == 1);
}

BOOST_AUTO_TEST_CASE(rethrows_exceptions_of_a_pass) {
  struct ThrowingSampler : Sampler {
    void sample(std::uint32_t, Pass&) override { throw std::runtime_error("no more"); }
    std::uint32_t current_process() const override { return 0; }
  };
  PassThread watch([] { return std::make_unique<ThrowingSampler>(); }, {.is_single_pass = true});
  watch.begin();
  BOOST_CHECK_EXCEPTION(watch.next_pass(), std::runtime_error,
                        [](const auto& error) { return error.what() == std::string("no more"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace sleepers_pass_thread_test
