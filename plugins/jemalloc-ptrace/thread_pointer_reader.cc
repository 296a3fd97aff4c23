#include "plugins/jemalloc-ptrace/thread_pointer_reader.hpp"

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

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"

namespace ctprof::jemalloc {
namespace {

// When no thread has stopped for this time, threads in uninterruptible sleep are abandoned. Other
// threads only wait for a CPU or for their share of one, and get more time.
constexpr std::uint64_t kStopTimeoutNs = 20'000'000;
constexpr std::uint64_t kMaxStopTimeoutNs = 250'000'000;
// Pause between two checks of threads that have not stopped yet. It sleeps and does not yield,
// because a sleeper soon runs again on a busy CPU.
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000};
constexpr unsigned long kPauseSlackNs = 1'000;
// Interval at which the caller checks a tracer that takes long.
constexpr auto kCheckInterval = std::chrono::milliseconds(5);

// Returns 0, or an errno. EINVAL: it is not a native program of this machine.
int read_pointer(pid_t tid, std::uint64_t& pointer) {
#if defined(__x86_64__)
  user_regs_struct registers{};
  iovec buffer{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &buffer) != 0) return errno;
  pointer = registers.fs_base;
  return buffer.iov_len == sizeof registers ? 0 : EINVAL;
#elif defined(__aarch64__)
  iovec buffer{&pointer, sizeof pointer};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &buffer) != 0) return errno;
  return buffer.iov_len == sizeof pointer ? 0 : EINVAL;
#else
#error "no thread pointer is known for this machine"
#endif
}

// Returns the signal that must be delivered on detach. A stop by a pending signal has its number. A
// stop by PTRACE_INTERRUPT or a group stop has other bits set above it.
int find_pending_signal(int status) { return (status >> 8) == 0 ? status & 0x7f : 0; }

bool is_stop(const siginfo_t& info) {
  return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
}

// Gets the state change of a thread, but leaves it waitable, so that the kernel keeps it if ctprof
// is killed. `info.si_pid` is 0 if there was none; returns false if the thread is not our tracee or
// child.
bool read_state_change(const Tracee& tracee, int flags, siginfo_t& info) {
  info = {};
  constexpr int kAllChanges = WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL;
  return ::waitid(P_PID, static_cast<id_t>(tracee.tid), &info, kAllChanges | flags) == 0;
}

// Reaps a thread that exited while it was traced; returns false if it did not. Does not reap
// leaders, because the status of our own children would be lost. It checks first, because waitid()
// consumes stops of traced threads even when it only waits for exits.
bool reap_if_exited(const Tracee& tracee, int flags) {
  siginfo_t info;
  if (tracee.tid == tracee.tgid || !read_state_change(tracee, flags, info) || info.si_pid == 0 ||
      is_stop(info))
    return false;
  return ::waitid(P_PID, static_cast<id_t>(tracee.tid), &info,
                  WEXITED | WNOHANG | __WALL | flags) == 0;
}

// Runs the steps for all threads, on the tracer's thread.
class Tracer {
 public:
  Tracer(int proc, std::span<Tracee> tracees, InterruptibleSeize& seize_call)
      : proc_(proc), tracees_(tracees), seize_call_(seize_call) {
    pending_.reserve(tracees.size());
  }

  std::uint64_t run() {
    for (Tracee& tracee : tracees_) {
      start_stop(tracee);
      finish_first();
    }
    wait_for_stops();
    return longest_stop_ns_;
  }

  // Returns whether the tracer may still hold a thread: an abandoned one, or a dead one, which
  // its parent cannot reap before the tracer detaches.
  bool holds_threads() const { return holds_threads_; }

 private:
  struct PendingStop {
    Tracee* tracee;
    std::uint64_t since_ns;
  };

  void start_stop(Tracee& tracee) {
    const int error = tracee.tgid == blocked_execve_tgid_ ? EINTR : seize_call_.seize(tracee.tid);
    if (error == EINTR) blocked_execve_tgid_ = tracee.tgid, holds_threads_ = true;
    if (error != 0) {
      tracee.outcome = {ProbeStep::Seize, error == EINTR ? ETIMEDOUT : error};
      return;
    }
    const std::uint64_t stop_start = clock_ns(CLOCK_MONOTONIC);
    if (::ptrace(PTRACE_INTERRUPT, tracee.tid, nullptr, nullptr) != 0) {
      tracee.outcome = {ProbeStep::Interrupt, errno};
      return reap(tracee);
    }
    pending_.push_back({&tracee, stop_start});
  }

  // Detaches threads that stopped while others were still being interrupted, so that they run
  // again.
  void finish_first() {
    const auto stays = std::ranges::find_if_not(
        pending_, [this](const PendingStop& flight) { return finish_if_stopped(flight); });
    pending_.erase(pending_.begin(), stays);
  }

  // The time is taken before the check: if ctprof itself was not running meanwhile, the threads get
  // another check.
  void wait_for_stops() {
    std::uint64_t progress = clock_ns(CLOCK_MONOTONIC);
    while (!pending_.empty()) {
      const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
      if (finish_stopped()) progress = now;
      const std::uint64_t idle = now - progress;
      if (idle > kStopTimeoutNs)
        give_up([&](const Tracee& tracee) {
          return idle > kMaxStopTimeoutNs || is_in_uninterruptible_sleep(tracee);
        });
    }
  }

  // Returns whether a thread has stopped or failed.
  bool finish_stopped() {
    if (std::erase_if(pending_,
                      [this](const PendingStop& flight) { return finish_if_stopped(flight); }) > 0)
      return true;
    ::nanosleep(&kPause, nullptr);
    return false;
  }

  template <class Predicate>
  void give_up(Predicate should_give_up) {
    std::erase_if(pending_, [&](const PendingStop& flight) {
      if (!should_give_up(*flight.tracee)) return false;
      flight.tracee->outcome = {ProbeStep::Wait, ETIMEDOUT};
      return holds_threads_ = true;
    });
  }

  bool is_in_uninterruptible_sleep(const Tracee& tracee) {
    char path[64];
    std::snprintf(path, sizeof path, "%d/task/%d/stat", tracee.tgid, tracee.tid);
    const auto stat = file_.read(proc_, path);
    return stat && parse_thread_image(stat.value).state == 'D';
  }

  bool finish_if_stopped(const PendingStop& flight) {
    Tracee& tracee = *flight.tracee;
    siginfo_t info;
    if (!read_state_change(tracee, __WNOTHREAD, info)) {
      tracee.outcome = {ProbeStep::Wait, errno == ECHILD ? ESRCH : errno};
      return true;
    }
    if (info.si_pid == 0) return false;
    if (is_stop(info)) {
      read_and_detach(tracee, info.si_status);
      longest_stop_ns_ = std::max(longest_stop_ns_, clock_ns(CLOCK_MONOTONIC) - flight.since_ns);
    } else {
      tracee.outcome = {ProbeStep::Wait, ESRCH};
      reap(tracee);
    }
    return true;
  }

  void reap(const Tracee& dead) {
    if (!reap_if_exited(dead, __WNOTHREAD)) holds_threads_ = true;
  }

  // Reads a stopped thread, and detaches it. A thread that cannot be detached was killed.
  void read_and_detach(Tracee& tracee, int status) {
    const int error = read_pointer(tracee.tid, tracee.pointer);
    const auto signal = static_cast<std::uintptr_t>(find_pending_signal(status));
    const bool was_killed =
        ::ptrace(PTRACE_DETACH, tracee.tid, nullptr, reinterpret_cast<void*>(signal)) != 0;
    if (error != 0 || was_killed)
      tracee.outcome = {ProbeStep::GetRegset, error != 0 ? error : ESRCH};
    if (was_killed) reap(tracee);
  }

  int proc_;
  std::span<Tracee> tracees_;
  std::vector<PendingStop> pending_;
  InterruptibleSeize& seize_call_;
  pid_t blocked_execve_tgid_ = 0;  // a process whose execve does not finish
  sdk::TextFile file_;
  std::uint64_t longest_stop_ns_ = 0;
  bool holds_threads_ = false;
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
  InterruptibleSeize::prepare_thread();
}

}  // namespace

void ThreadPointerReader::trace() {
  prepare_thread();
  for (;;) {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [this] { return turn_ != Turn::Caller; });
    if (turn_ == Turn::End) return;
    lock.unlock();
    Tracer tracer(proc_, tracees_, seize_call_);
    longest_stop_ns_ = tracer.run();
    holds_threads_ = tracer.holds_threads();
    set_turn(Turn::Caller);
    if (holds_threads_) return;
  }
}

void ThreadPointerReader::set_turn(Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  turn_changed_.notify_all();
}

std::uint64_t ThreadPointerReader::read(std::span<Tracee> tracees) {
  if (tracees.empty()) return 0;
  tracees_ = tracees;
  if (!tracer_.joinable()) tracer_ = std::thread(&ThreadPointerReader::trace, this);
  set_turn(Turn::Tracer);
  std::unique_lock lock(mutex_);
  while (!turn_changed_.wait_for(lock, kCheckInterval, [this] { return turn_ == Turn::Caller; }))
    check_tracer(tracees);
  lock.unlock();
  if (holds_threads_) tracer_.join();
  return longest_stop_ns_;
}

// Checks a tracer that takes long. Threads that have already stopped wait for the tracer, so it may
// block no longer than the limit for one thread.
void ThreadPointerReader::check_tracer(std::span<Tracee> tracees) {
  for (const Tracee& tracee : tracees) reap_if_exited(tracee, 0);
  const std::uint64_t since = seize_call_.start_ns();
  if (since != 0 && clock_ns(CLOCK_MONOTONIC) > since + kMaxStopTimeoutNs)
    seize_call_.interrupt(tracer_.native_handle());
}

ThreadPointerReader::~ThreadPointerReader() {
  if (!tracer_.joinable()) return;
  set_turn(Turn::End);
  tracer_.join();
}

}  // namespace ctprof::jemalloc
