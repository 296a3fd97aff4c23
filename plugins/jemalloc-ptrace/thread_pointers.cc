#include "plugins/jemalloc-ptrace/thread_pointers.hpp"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"
#include "plugins/shared/clock.hpp"

namespace ctprof::jemalloc {
namespace {

// When no thread has stopped for this time, threads in uninterruptible sleep are given up. Other
// threads only wait for a CPU or for their share of one, and get more time.
constexpr std::uint64_t kPatienceNs = 20'000'000;
constexpr std::uint64_t kMostPatienceNs = 250'000'000;
// Pause between two checks of threads that have not stopped yet. It sleeps and does not yield,
// because a sleeper soon runs again on a busy CPU.
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000};
constexpr unsigned long kPauseSlackNs = 1'000;
// Interval at which the caller checks a tracer that takes long.
constexpr auto kLookAfter = std::chrono::milliseconds(5);

// Returns 0, or an errno. EINVAL: it is not a native program of this machine.
int read_pointer(pid_t tid, std::uint64_t& pointer) {
#if defined(__x86_64__)
  user_regs_struct registers{};
  iovec room{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &room) != 0) return errno;
  pointer = registers.fs_base;
  return room.iov_len == sizeof registers ? 0 : EINVAL;
#elif defined(__aarch64__)
  iovec room{&pointer, sizeof pointer};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &room) != 0) return errno;
  return room.iov_len == sizeof pointer ? 0 : EINVAL;
#else
#error "no thread pointer is known for this machine"
#endif
}

// Returns the signal that must be delivered on detach. A stop by a pending signal has its number. A
// stop by PTRACE_INTERRUPT or a group stop has other bits set above it.
int signal_to_hand_back(int status) { return (status >> 8) == 0 ? status & 0x7f : 0; }

bool is_stop(const siginfo_t& info) {
  return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
}

// Gets the state change of a thread, but leaves it waitable, so that the kernel keeps it if ctprof
// is killed. `info.si_pid` is 0 if there was none; returns false if the thread is not our tracee or
// child.
bool look_at(const Tracee& tracee, int flags, siginfo_t& info) {
  info = {};
  constexpr int kAnything = WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL;
  return ::waitid(P_PID, static_cast<id_t>(tracee.tid), &info, kAnything | flags) == 0;
}

// Reaps a thread that died while it was traced; returns false if it did not. Leaders are left
// alone, because the status of our own children would be lost. It checks first, because waitid()
// consumes stops of traced threads even when it only waits for exits.
bool collect_if_dead(const Tracee& tracee, int flags) {
  siginfo_t info;
  if (tracee.tid == tracee.tgid || !look_at(tracee, flags, info) || info.si_pid == 0 ||
      is_stop(info))
    return false;
  return ::waitid(P_PID, static_cast<id_t>(tracee.tid), &info,
                  WEXITED | WNOHANG | __WALL | flags) == 0;
}

// Runs the steps for all threads, on the tracer's thread.
class Tracer {
 public:
  Tracer(int proc, std::span<Tracee> tracees, Interruptible& seizing)
      : proc_(proc), tracees_(tracees), seizing_(seizing) {
    in_flight_.reserve(tracees.size());
  }

  std::uint64_t run() {
    for (Tracee& tracee : tracees_) {
      start(tracee);
      land_first();
    }
    await();
    return longest_stop_ns_;
  }

  // Returns whether the tracer may still hold a thread: one that was given up, or a dead one, which
  // its parent cannot reap before the tracer detaches.
  bool holds_some() const { return holds_some_; }

 private:
  struct Flight {
    Tracee* tracee;
    std::uint64_t since_ns;
  };

  void start(Tracee& tracee) {
    const int error = tracee.tgid == in_execve_ ? EINTR : seizing_.seize(tracee.tid);
    if (error == EINTR) in_execve_ = tracee.tgid, holds_some_ = true;
    if (error != 0) {
      tracee.outcome = {ProbeStep::Seize, error == EINTR ? ETIMEDOUT : error};
      return;
    }
    const std::uint64_t since = clock_ns(CLOCK_MONOTONIC);
    if (::ptrace(PTRACE_INTERRUPT, tracee.tid, nullptr, nullptr) != 0) {
      tracee.outcome = {ProbeStep::Interrupt, errno};
      return collect(tracee);
    }
    in_flight_.push_back({&tracee, since});
  }

  // Detaches threads that stopped while others were still being interrupted, so that they run
  // again.
  void land_first() {
    const auto stays = std::ranges::find_if_not(
        in_flight_, [this](const Flight& flight) { return has_landed(flight); });
    in_flight_.erase(in_flight_.begin(), stays);
  }

  // The time is taken before the check: if ctprof itself was not running meanwhile, the threads get
  // another check.
  void await() {
    std::uint64_t progress = clock_ns(CLOCK_MONOTONIC);
    while (!in_flight_.empty()) {
      const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
      if (poll()) progress = now;
      const std::uint64_t idle = now - progress;
      if (idle > kPatienceNs)
        give_up([&](const Tracee& tracee) {
          return idle > kMostPatienceNs || sleeps_for_good(tracee);
        });
    }
  }

  // Returns whether a thread has stopped or failed.
  bool poll() {
    if (std::erase_if(in_flight_, [this](const Flight& flight) { return has_landed(flight); }) > 0)
      return true;
    ::nanosleep(&kPause, nullptr);
    return false;
  }

  template <class Hopeless>
  void give_up(Hopeless is_hopeless) {
    std::erase_if(in_flight_, [&](const Flight& flight) {
      if (!is_hopeless(*flight.tracee)) return false;
      flight.tracee->outcome = {ProbeStep::Wait, ETIMEDOUT};
      return holds_some_ = true;
    });
  }

  bool sleeps_for_good(const Tracee& tracee) {
    char path[64];
    std::snprintf(path, sizeof path, "%d/task/%d/stat", tracee.tgid, tracee.tid);
    const auto stat = file_.read(proc_, path);
    return stat && parse_thread_image(stat.value).state == 'D';
  }

  bool has_landed(const Flight& flight) {
    Tracee& tracee = *flight.tracee;
    siginfo_t info;
    if (!look_at(tracee, __WNOTHREAD, info)) {
      tracee.outcome = {ProbeStep::Wait, errno == ECHILD ? ESRCH : errno};
      return true;
    }
    if (info.si_pid == 0) return false;
    if (is_stop(info)) {
      take(tracee, info.si_status);
      longest_stop_ns_ = std::max(longest_stop_ns_, clock_ns(CLOCK_MONOTONIC) - flight.since_ns);
    } else {
      tracee.outcome = {ProbeStep::Wait, ESRCH};
      collect(tracee);
    }
    return true;
  }

  void collect(const Tracee& dead) {
    if (!collect_if_dead(dead, __WNOTHREAD)) holds_some_ = true;
  }

  // Reads a stopped thread, and detaches it. A thread that cannot be detached was killed.
  void take(Tracee& tracee, int status) {
    const int error = read_pointer(tracee.tid, tracee.pointer);
    const auto signal = static_cast<std::uintptr_t>(signal_to_hand_back(status));
    const bool gone =
        ::ptrace(PTRACE_DETACH, tracee.tid, nullptr, reinterpret_cast<void*>(signal)) != 0;
    if (error != 0 || gone) tracee.outcome = {ProbeStep::GetRegset, error != 0 ? error : ESRCH};
    if (gone) collect(tracee);
  }

  int proc_;
  std::span<Tracee> tracees_;
  std::vector<Flight> in_flight_;
  Interruptible& seizing_;
  pid_t in_execve_ = 0;  // a process whose execve does not finish
  sdk::TextFile file_;
  std::uint64_t longest_stop_ns_ = 0;
  bool holds_some_ = false;
};

// Blocks signals of the process, which other threads handle, and makes short pauses precise.
// SIGCHLD is not blocked: the kernel sends one for each stop and drops it if it is ignored, as by
// default, but wakes another thread for it if the tracer blocks it.
void prepare_thread() {
  ::prctl(PR_SET_TIMERSLACK, kPauseSlackNs);
  sigset_t others;
  ::sigfillset(&others);
  ::sigdelset(&others, SIGCHLD);
  ::pthread_sigmask(SIG_SETMASK, &others, nullptr);
  Interruptible::prepare_thread();
}

}  // namespace

void ThreadPointers::trace() {
  prepare_thread();
  for (;;) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [this] { return turn_ != Turn::Caller; });
    if (turn_ == Turn::End) return;
    lock.unlock();
    Tracer tracer(proc_, tracees_, seizing_);
    longest_stop_ns_ = tracer.run();
    holds_some_ = tracer.holds_some();
    hand_over(Turn::Caller);
    if (holds_some_) return;
  }
}

void ThreadPointers::hand_over(Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  turned_.notify_all();
}

std::uint64_t ThreadPointers::read(std::span<Tracee> tracees) {
  if (tracees.empty()) return 0;
  tracees_ = tracees;
  if (!tracer_.joinable()) tracer_ = std::thread(&ThreadPointers::trace, this);
  hand_over(Turn::Tracer);
  std::unique_lock lock(mutex_);
  while (!turned_.wait_for(lock, kLookAfter, [this] { return turn_ == Turn::Caller; }))
    look_after(tracees);
  lock.unlock();
  if (holds_some_) tracer_.join();
  return longest_stop_ns_;
}

// Checks a tracer that takes long. Threads that have already stopped wait for the tracer, so it may
// block no longer than the limit for one thread.
void ThreadPointers::look_after(std::span<Tracee> tracees) {
  for (const Tracee& tracee : tracees) collect_if_dead(tracee, 0);
  const std::uint64_t since = seizing_.since();
  if (since != 0 && clock_ns(CLOCK_MONOTONIC) > since + kMostPatienceNs)
    seizing_.interrupt(tracer_.native_handle());
}

ThreadPointers::~ThreadPointers() {
  if (!tracer_.joinable()) return;
  hand_over(Turn::End);
  tracer_.join();
}

}  // namespace ctprof::jemalloc
