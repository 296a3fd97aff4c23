#include "plugins/jemalloc-ptrace/interruptible.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>

#include <cerrno>
#include <mutex>

#include "plugins/shared/clock.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr int kSignal = SIGURG;

// The jump target of the signal handler, which only knows its thread; null: no call is active.
thread_local sigjmp_buf* volatile way_out = nullptr;

void leap(int) {
  if (way_out) siglongjmp(*way_out, 1);
}

}  // namespace

void Interruptible::prepare_thread() {
  sigset_t ours;
  ::sigemptyset(&ours);
  ::sigaddset(&ours, kSignal);
  ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

// Only plain data is alive across the jump.
int Interruptible::seize(int tid) {
  sigjmp_buf here;
  volatile int error = EINTR;
  since_ns_ = clock_ns(CLOCK_MONOTONIC);
  if (sigsetjmp(here, 0) == 0) {
    way_out = &here;
    error = ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0 ? 0 : errno;
  } else {
    prepare_thread();  // the jump left the handler with its signal blocked
  }
  way_out = nullptr;
  since_ns_ = 0;
  return error;
}

void Interruptible::interrupt(pthread_t caller) const {
  static std::mutex one_at_a_time;  // signal actions apply to the whole process
  const std::lock_guard lock(one_at_a_time);
  struct sigaction leaping {
  }, before{};
  leaping.sa_handler = leap;
  ::sigaction(kSignal, &leaping, &before);
  const std::uint64_t since = since_ns_;
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (since != 0 && since_ns_ == since) {
    ::pthread_kill(caller, kSignal);
    ::nanosleep(&kMoment, nullptr);
  }
  ::sigaction(kSignal, &before, nullptr);
}

}  // namespace ctprof::jemalloc
