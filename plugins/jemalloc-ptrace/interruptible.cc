#include "plugins/jemalloc-ptrace/interruptible.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>

#include <cerrno>
#include <mutex>

#include "core/base/clock.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr int kSignal = SIGURG;

// The jump target of the signal handler in this thread; null: no call is active.
thread_local sigjmp_buf* volatile jump_target = nullptr;

void jump_out(int) {
  if (jump_target) siglongjmp(*jump_target, 1);
}

}  // namespace

void InterruptibleSeize::prepare_thread() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, kSignal);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

// Only plain data is alive across the jump.
int InterruptibleSeize::seize(int tid) {
  sigjmp_buf jump_buffer;
  volatile int error = EINTR;
  start_ns_ = clock_ns(CLOCK_MONOTONIC);
  if (sigsetjmp(jump_buffer, 0) == 0) {
    jump_target = &jump_buffer;
    error = ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0 ? 0 : errno;
  } else {
    prepare_thread();  // the jump left the handler with its signal blocked
  }
  jump_target = nullptr;
  start_ns_ = 0;
  return error;
}

void InterruptibleSeize::interrupt(pthread_t caller) const {
  static std::mutex one_at_a_time;  // signal actions apply to the whole process
  const std::lock_guard lock(one_at_a_time);
  struct sigaction jump_action {
  }, before{};
  jump_action.sa_handler = jump_out;
  ::sigaction(kSignal, &jump_action, &before);
  const std::uint64_t since = start_ns_;
  constexpr timespec kRetryPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (since != 0 && start_ns_ == since) {
    ::pthread_kill(caller, kSignal);
    ::nanosleep(&kRetryPause, nullptr);
  }
  ::sigaction(kSignal, &before, nullptr);
}

}  // namespace ctprof::jemalloc
