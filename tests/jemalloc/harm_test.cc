// Tests that reading thread pointers does not disturb targets: when the prober is killed, and with
// signals, stops, other tracers and exits.
//
// Contents:  thread_pointer_reader.hpp with real threads.
// See also:  exec_test.cc, for programs that are replaced; undisturbed_targets_test.py, for whole
// captures.

#define BOOST_TEST_MODULE jemalloc_harm
#include <sys/ptrace.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <random>

#include "plugins/jemalloc-ptrace/outcome.hpp"
#include "tests/jemalloc/target.hpp"
#include "tests/unit/support/source_driver.hpp"

using ctprof::Gap;
using ctprof::jemalloc::gap_of_failed_seize;
using ctprof::jemalloc::ThreadPointerReader;

namespace {

long random_us(long most) {
  static thread_local std::mt19937 numbers(1);
  return std::uniform_int_distribution<long>(0, most)(numbers);
}

std::uint64_t measure_seconds(const std::function<void()>& operation) {
  const auto start = std::chrono::steady_clock::now();
  operation();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start)
          .count());
}

// Probes the target until it is killed.
void probe_repeatedly(Target& target) {
  ThreadPointerReader pointers(open_proc());
  for (;;) {
    auto tracees = tracees_of(target.pid());
    ++target.page().calls;
    pointers.read(tracees);
    ++target.page().calls;
  }
}

void send_signals(Target& target, int count) {
  for (int i = 0; i < count; ++i)
    ::syscall(SYS_tgkill, target.pid(),
              target.page().tids[static_cast<std::size_t>(random_us(kThreads - 1))].load(),
              SIGRTMIN);
}

std::uint64_t count_successful(const std::vector<Tracee>& tracees) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      tracees, [](const Tracee& tracee) { return tracee.outcome.failed_step == ProbeStep::Done; }));
}

// Returns whether the outcome is valid for a thread that may have exited; EPERM means a zombie.
bool is_valid_outcome(const Tracee& tracee) {
  const auto [failed, error] = tracee.outcome;
  return failed == ProbeStep::Done || error == ESRCH ||
         (failed == ProbeStep::Seize && error == EPERM);
}

// Traces the target's main thread like a debugger, until this object is destroyed.
class Debugger {
 public:
  explicit Debugger(pid_t pid)
      : child_(start_child([pid] {
          ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr);
          ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
          for (;;) ::pause();
        })) {
    wait_until([pid] { return status_of(pid, "State").starts_with('t'); });
  }
  ~Debugger() { end_child(child_, SIGKILL); }
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;
  pid_t pid() const { return child_; }

 private:
  pid_t child_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(pointers_equal_those_that_threads_read) {
  Target target;
  auto tracees = tracees_of(target.pid());
  BOOST_TEST(tracees.size() == kThreads + 1);
  const std::uint64_t longest = ThreadPointerReader(open_proc()).read(tracees);
  BOOST_TEST(longest > 0u);
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto it = std::ranges::find(tracees, target.page().tids[i].load(), &Tracee::tid);
    BOOST_REQUIRE((it != tracees.end() && it->outcome.failed_step == ProbeStep::Done));
    BOOST_TEST(it->pointer == target.page().pointers[i].load());
  }
  BOOST_TEST(target.all_make_progress());
}

BOOST_AUTO_TEST_CASE(all_threads_continue_and_no_signal_is_lost_when_the_prober_is_killed) {
  Target target;
  std::uint64_t sent = 0;
  int killed_during_call = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t before = target.page().calls & ~std::uint64_t{1};
    target.page().calls = before;
    const pid_t prober = start_child([&] { probe_repeatedly(target); });
    wait_until([&] { return target.page().calls > before; });
    sleep_us(random_us(1500));
    send_signals(target, 3), sent += 3;
    end_child(prober, SIGKILL);
    killed_during_call += target.page().calls % 2 == 1;
    BOOST_REQUIRE(target.all_make_progress());
    BOOST_REQUIRE(is_untraced(target.pid()));
  }
  BOOST_TEST(killed_during_call > kRounds / 2);
  BOOST_TEST(wait_until([&] { return target.page().signals == sent; }));
  BOOST_TEST(target.page().signals == sent);
}

BOOST_AUTO_TEST_CASE(signals_arrive_while_threads_are_read) {
  Target target;
  const Child prober([&] { probe_repeatedly(target); });
  constexpr std::uint64_t kSignals = 20'000;
  for (std::uint64_t sent = 0; sent < kSignals; sent += 20) {
    send_signals(target, 20);
    BOOST_REQUIRE(wait_until([&] { return target.page().signals == sent + 20; }));
  }
  BOOST_TEST(target.page().signals == kSignals);
  BOOST_TEST(target.page().calls > 100u);
}

BOOST_AUTO_TEST_CASE(a_stopped_target_stays_stopped) {
  Target target;
  ::kill(target.pid(), SIGSTOP);
  int status = 0;
  BOOST_TEST(::waitpid(target.pid(), &status, WUNTRACED) == target.pid());
  auto tracees = tracees_of(target.pid());
  ThreadPointerReader(open_proc()).read(tracees);
  BOOST_TEST(count_successful(tracees) == kThreads + 1);
  BOOST_TEST(wait_until([&] { return all_in_state(target.pid(), 'T'); }));
  const std::uint64_t ticks = target.page().ticks[0];
  sleep_us(20'000);
  BOOST_TEST(target.page().ticks[0] == ticks);
  // No state change is reported to the parent.
  BOOST_TEST(::waitpid(target.pid(), &status, WUNTRACED | WCONTINUED | WNOHANG) == 0);
  ::kill(target.pid(), SIGCONT);
  BOOST_TEST(target.all_make_progress());
}

BOOST_AUTO_TEST_CASE(a_stop_during_probing_stops_the_target) {
  Target target;
  const pid_t prober = start_child([&] { probe_repeatedly(target); });
  for (int round = 0; round < kRounds; ++round) {
    ::kill(target.pid(), SIGSTOP);
    int status = 0;
    BOOST_REQUIRE(::waitpid(target.pid(), &status, WUNTRACED) == target.pid());
    BOOST_REQUIRE((WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP));
    const std::uint64_t ticks = target.page().ticks[3];
    sleep_us(1000);
    BOOST_REQUIRE(target.page().ticks[3] == ticks);
    ::kill(target.pid(), SIGCONT);
    BOOST_REQUIRE(target.all_make_progress());
  }
  end_child(prober, SIGKILL);
  BOOST_TEST(target.all_make_progress());
}

BOOST_AUTO_TEST_CASE(a_debugged_thread_is_busy_and_stays_traced_by_its_debugger) {
  Target target;
  const Debugger debugger(target.pid());
  auto tracees = tracees_of(target.pid());
  ThreadPointerReader(open_proc()).read(tracees);
  BOOST_TEST(count_successful(tracees) == kThreads);
  BOOST_TEST((tracees.front().outcome.failed_step == ProbeStep::Seize));
  BOOST_TEST(tracees.front().outcome.error == EPERM);
  const auto pid = static_cast<std::uint64_t>(target.pid());
  const TestHost host("", {pid, pid}, 0);
  BOOST_TEST(
      (gap_of_failed_seize(ctprof::sdk::Host(host.abi), {0, pid, pid, -1}, EPERM) == Gap::Busy));
  BOOST_TEST(status_of(target.pid(), "TracerPid") == std::to_string(debugger.pid()));
  BOOST_TEST(status_of(target.pid(), "State").starts_with('t'));
}

BOOST_AUTO_TEST_CASE(is_denied_without_privileges,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return boost::test_tools::assertion_result(::getuid() == 0);
                     })) {
  Target target;
  const pid_t unprivileged_child = start_child([&] {
    auto tracees = tracees_of(target.pid());
    const auto pid = static_cast<std::uint64_t>(target.pid());
    const TestHost host("", {pid, pid}, 0);
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    ThreadPointerReader(open_proc()).read(tracees);
    const bool denied = std::ranges::all_of(
        tracees, [](const Tracee& tracee) { return tracee.outcome.error == EPERM; });
    ::_exit(denied && gap_of_failed_seize(ctprof::sdk::Host(host.abi), {0, pid, pid, -1}, EPERM) ==
                          Gap::Denied
                ? 7
                : 1);
  });
  BOOST_TEST(WEXITSTATUS(end_child(unprivileged_child, 0)) == 7);
}

BOOST_AUTO_TEST_CASE(uninterruptible_sleep_costs_a_bounded_wait_and_leaves_no_trace) {
  // The parent is in uninterruptible sleep until its vfork child exits.
  SharedPage* page = make_shared_page();
  const pid_t parent = start_child([page] {
    if (::vfork() == 0) {
      sleep_us(1'500'000);
      ::_exit(0);
    }
    for (;; sleep_us(500)) ++page->ticks[0];
  });
  BOOST_TEST(wait_until([&] { return status_of(parent, "State").starts_with('D'); }));
  auto tracees = tracees_of(parent);
  BOOST_TEST(measure_seconds([&] { ThreadPointerReader(open_proc()).read(tracees); }) < 1u);
  BOOST_REQUIRE(tracees.size() == 1u);
  BOOST_TEST((tracees[0].outcome.failed_step == ProbeStep::Wait));
  BOOST_TEST(tracees[0].outcome.error == ETIMEDOUT);
  BOOST_TEST(page->ticks[0] == 0u);  // it still sleeps
  BOOST_TEST(wait_until([&] { return is_untraced(parent); }));
  BOOST_TEST(wait_until([&] { return page->ticks[0] > 100; }));
  end_child(parent, SIGKILL);
  ::munmap(page, sizeof(SharedPage));
}

BOOST_AUTO_TEST_CASE(threads_may_exit_during_probing) {
  SharedPage* page = make_shared_page();
  const pid_t churning_process = start_child([page] {
    const auto run_short_thread = [](void*) -> void* {
      sleep_us(random_us(800));
      return nullptr;
    };
    for (;; ++page->ticks[0]) {
      std::array<pthread_t, kThreads> threads;
      for (pthread_t& thread : threads)
        if (::pthread_create(&thread, nullptr, run_short_thread, nullptr) != 0) ::_exit(1);
      for (pthread_t& thread : threads) ::pthread_join(thread, nullptr);
    }
  });
  wait_until([&] { return page->ticks[0] > 0; });
  std::uint64_t read = 0, exited = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto tracees = tracees_of(churning_process);
    ThreadPointerReader(open_proc()).read(tracees);
    BOOST_REQUIRE(std::ranges::all_of(tracees, is_valid_outcome));
    read += count_successful(tracees), exited += tracees.size() - count_successful(tracees);
  }
  BOOST_TEST(read > std::uint64_t{kRounds});
  BOOST_TEST(exited > std::uint64_t{kRounds / 10});
  const std::uint64_t ticks = page->ticks[0];
  BOOST_TEST(wait_until([&] { return page->ticks[0] > ticks + 5; }));
  end_child(churning_process, SIGKILL);
  ::munmap(page, sizeof(SharedPage));
}

// The exit must be reported soon, although the prober continues to run: a dead leader must not stay
// traced.
BOOST_AUTO_TEST_CASE(the_parent_receives_the_exit_status_of_a_probed_child) {
  ThreadPointerReader pointers(open_proc());
  for (int round = 0; round < kRounds; ++round) {
    const long delay = random_us(1500);
    const pid_t child = start_child([delay] {
      pthread_t thread;
      for (int i = 0; i < 3; ++i)
        ::pthread_create(
            &thread, nullptr, [](void*) -> void* { return ::pause(), nullptr; }, nullptr);
      sleep_us(delay);
      ::_exit(7);
    });
    sleep_us(random_us(1000));
    for (int i = 0; i < 3; ++i) {
      auto tracees = tracees_of(child);
      pointers.read(tracees);
    }
    int status = 0;
    BOOST_REQUIRE(wait_until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    BOOST_REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 7));
  }
}
