#include "tools/ctprof/time_limit.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "core/base/clock.hpp"
#include "tools/ctprof/signals.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kFirstLook = 4500 * kNsPerMs;
constexpr std::uint64_t kSecondLook = 500 * kNsPerMs;
constexpr std::uint64_t kLate = 1000 * kNsPerMs;

// Few programs use real-time signals, and those that do start from the lowest.
int limit_signal() { return SIGRTMAX - 2; }

timer_t g_timer{};
bool g_has_timer = false;

// What the time is for; read by the handler.
std::atomic<const CallOwner*> g_owner{nullptr};
std::atomic<const char*> g_function{""};
std::atomic<bool> g_ends{false};
std::atomic<int> g_status{0};
std::atomic<bool> g_looked{false};
std::atomic<std::uint64_t> g_due{0};

void set_timer(std::uint64_t ns) {
  if (!g_has_timer) return;
  if (ns > 0) g_due = monotonic_ns() + ns;
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(ns / (1000 * kNsPerMs));
  time.it_value.tv_nsec = static_cast<long>(ns % (1000 * kNsPerMs));
  ::timer_settime(g_timer, 0, &time, nullptr);
}

void look_in(std::uint64_t ns, bool looked) {
  g_looked = looked;
  set_timer(ns);
}

[[noreturn]] void expire(const ucontext_t& context) {
  SignalLine line;
  if (g_ends) {
    if (const CallOwner* owner = owner_of_context(context))
      line.name(owner->file) << ": what it runs when ctprof ends";
    else
      line << "what a plugin runs when ctprof ends";
  } else {
    line.call(*g_owner, g_function);
  }
  line << " did not return within 5 s" << kDoWithout;
  line.say();
  ::_exit(g_ends ? g_status.load() : kFailed);
}

void on_time(int, siginfo_t*, void* context) {
  const int number = errno;
  const std::uint64_t now = monotonic_ns(), due = g_due;
  const bool is_limited = g_owner.load() || g_ends;
  if (!is_own_process() || !is_limited || now < due) {
    // Of a call that has returned since.
  } else if (now - due > kLate) {
    look_in(kFirstLook, false);
  } else if (!g_looked) {
    look_in(kSecondLook, true);
  } else {
    expire(*static_cast<const ucontext_t*>(context));
  }
  errno = number;
}

void unblock(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

void make_time_limit() {
  struct sigaction action {};
  action.sa_sigaction = &on_time;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = limit_signal();
  g_has_timer = ::sigaction(limit_signal(), &action, nullptr) == 0 &&
                ::timer_create(CLOCK_MONOTONIC, &event, &g_timer) == 0;
  unblock(limit_signal());
}

void begin_time_limit(const CallOwner& owner, const char* function) {
  g_function = function;
  g_owner = &owner;
  look_in(kFirstLook, false);
}

void end_time_limit() {
  g_owner = nullptr;
  set_timer(0);
}

void limit_end(int status) {
  g_status = status;
  g_ends = true;
  look_in(kFirstLook, false);
}

}  // namespace ctprof::cli
