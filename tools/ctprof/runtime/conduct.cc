#include "tools/ctprof/runtime/conduct.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/file/write/out_file.hpp"
#include "core/registry/plugin_call.hpp"
#include "tools/ctprof/runtime/held_up.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kFirstLook = 4500 * kNsPerMs;
constexpr std::uint64_t kSecondLook = 500 * kNsPerMs;
constexpr std::uint64_t kLate = 1000 * kNsPerMs;
constexpr std::uint64_t kMostOfIt = 2500 * kNsPerMs;  // of a limit, spent waiting for a CPU
constexpr int kMostLimits = 12;                       // restarts while the machine delays the code

// Few programs use real-time signals, and those that do start with the lowest.
int limit_signal() { return SIGRTMAX - 2; }

timer_t g_timer{};
bool g_has_timer = false;

// The call that the timer limits. The signal handler reads these.
std::atomic<const CallOwner*> g_owner{nullptr};
std::atomic<const char*> g_function{""};
std::atomic<bool> g_ends{false};
std::atomic<int> g_status{0};
std::atomic<bool> g_looked{false};
std::atomic<std::uint64_t> g_due{0};
HeldUp g_held_up;
int g_limits = 0;

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

void start_limits() {
  g_held_up.begin();
  g_limits = 1;
  look_in(kFirstLook, false);
}

[[noreturn]] void expire(const ucontext_t& context) {
  SignalLine line;
  if (g_ends) {
    if (const CallOwner* owner = owner_of_context(context))
      line.name(owner->file) << ": its exit handler";
    else
      line << "the exit handler of a plugin";
  } else {
    line.call(*g_owner, g_function);
  }
  line << " did not return within " << 5 * g_limits << " s" << kDoWithout;
  do_last_act();
  line.say();
  ::_exit(g_ends ? g_status.load() : kFailed);
}

void on_time(int, siginfo_t*, void* context) {
  const int number = errno;
  const std::uint64_t now = monotonic_ns(), due = g_due;
  const bool is_limited = g_owner.load() || g_ends;
  if (!is_own_process() || !is_limited || now < due) {
    // The timer belongs to a call that has returned since.
  } else if (now - due > kLate) {
    look_in(kFirstLook, false);
  } else if (!g_looked) {
    look_in(kSecondLook, true);
  } else if (g_limits < kMostLimits && g_held_up.since_asked(kMostOfIt)) {
    ++g_limits;
    look_in(kFirstLook, false);
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
  start_limits();
}

void end_time_limit() {
  g_owner = nullptr;
  set_timer(0);
}

void limit_end(int status) {
  g_status = status;
  g_ends = true;
  start_limits();
}

namespace {

struct Fault {
  int signal;
  std::string_view name;
  bool comes_again;  // when the instruction that raised it runs again
};
constexpr std::array kFaults{
    Fault{SIGSEGV, "segmentation fault", true},
    Fault{SIGBUS, "bus error", true},
    Fault{SIGILL, "illegal instruction", true},
    Fault{SIGFPE, "arithmetic exception", true},
    Fault{SIGABRT, "abort", false},
    Fault{SIGTRAP, "trap", false},
    Fault{SIGSYS, "forbidden system call", false},
};

// Large enough for the largest signal frame with all processor registers, and for our handler.
constexpr std::size_t kStackSize = 64 * 1024;
constexpr std::size_t kSignalStacks = 64;
alignas(64) std::array<std::array<std::byte, kStackSize>, kSignalStacks> g_stacks;

std::atomic<bool> g_said{false};
std::atomic<bool> g_ending{false};

const Fault& fault_of(int signal) {
  for (const Fault& fault : kFaults)
    if (fault.signal == signal) return fault;
  return kFaults.front();
}

// Whether another plugin's code crashed. A signal handler of one plugin may run while a function of
// another one is being called.
bool is_in_anothers_code(const CallOwner& called, const ucontext_t& context) {
  const CallOwner* owner = owner_of_instruction(context);
  return owner && owner->file != called.file;
}

void put_culprit(SignalLine& line, const ucontext_t& context) {
  const CallSlot* slot = current_call();
  const CallOwner* called = slot ? slot->owner.load() : nullptr;
  if (called && !is_in_anothers_code(*called, context)) {
    line.call(*called, slot->function.load()) << " crashed: ";
  } else if (const CallOwner* owner = owner_of_context(context)) {
    line.name(owner->file) << (g_ending ? ": it crashed when ctprof was about to end: "
                                        : ": its code crashed outside of any call: ");
  } else if (!slot && !is_main_thread()) {
    line << "a fault of ctprof itself, or of something that a plugin left running: ";
  } else {
    line << "a fault of ctprof itself: ";
  }
}

void say_fault(const Fault& fault, const ucontext_t& context) {
  SignalLine line;
  put_culprit(line, context);
  line << "signal " << fault.signal << " (" << fault.name << ")";
  const CallSlot* slot = current_call();
  if ((slot && slot->owner.load()) || owner_of_context(context)) line << kDoWithout;
  line.say();
}

// Whether another process sent the signal. Then no plugin caused it.
bool is_sent_by_another(const siginfo_t& info) {
  return info.si_code <= 0 && info.si_pid != ::getpid();
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const Fault& fault = fault_of(signal);
  if (is_own_process() && !is_sent_by_another(*info)) {
    // The first thread that crashes prints; threads that crash meanwhile wait until the process
    // ends.
    while (g_said.exchange(true)) ::pause();
    do_last_act();
    say_fault(fault, *static_cast<const ucontext_t*>(context));
  }
  if (is_own_process()) {
    do_last_act();
    remove_doomed_files();
  }
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  if (!fault.comes_again || info->si_code <= 0) ::raise(signal);
}

bool is_default(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

// Keeps handlers that are already installed, for example those of a sanitizer.
void handle_crashes() {
  struct sigaction action {};
  action.sa_sigaction = &on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  for (const Fault& fault : kFaults)
    if (is_default(fault.signal)) ::sigaction(fault.signal, &action, nullptr);
}

// Gives the calling thread a stack for signal handlers, so that the plugin is also named after a
// stack overflow. Does nothing beyond kSignalStacks, or if the thread has such a stack already.
void use_signal_stack(std::size_t number) {
  stack_t now{};
  if (number >= kSignalStacks || ::sigaltstack(nullptr, &now) != 0 ||
      (now.ss_flags & SS_DISABLE) == 0)
    return;
  stack_t stack{};
  stack.ss_sp = g_stacks[number].data();
  stack.ss_size = kStackSize;
  ::sigaltstack(&stack, nullptr);
}

[[noreturn]] void refuse_end(const CallOwner* owner, const char* function,
                             std::string_view activity) {
  SignalLine line;
  if (owner)
    line.call(*owner, function);
  else
    line << "something that a plugin left running";
  line << activity << kDoWithout;
  do_last_act();
  line.say();
  ::_exit(kFailed);
}

// Runs when something calls exit(). Does nothing when ctprof itself exits, or in a process that a
// plugin forked.
void at_exit() {
  if (g_ending || !is_own_process()) return;
  const CallSlot* slot = current_call();
  refuse_end(slot ? slot->owner.load() : nullptr, slot ? slot->function.load() : "",
             " called exit(), which would end ctprof too");
}

void at_thread_end(const CallOwner& owner, const char* function) {
  refuse_end(&owner, function, " terminated a thread of ctprof (pthread_exit)");
}

// The first stack belongs to the main thread, so thread `number` uses the next one.
void begin_thread(std::size_t number) { use_signal_stack(number + 1); }

}  // namespace

void watch_conduct(const void* stack_begin) {
  remember_own_process(stack_begin);
  handle_crashes();
  make_time_limit();
  use_signal_stack(0);
  std::atexit(&at_exit);
  std::at_quick_exit(&at_exit);
  set_call_hooks({&begin_time_limit, &end_time_limit, &begin_thread, &at_thread_end});
}

int end_with(int status) {
  g_ending = true;
  limit_end(status);
  return status;
}

}  // namespace ctprof::cli
