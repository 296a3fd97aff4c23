#include "tools/ctprof/runtime/plugin_watchdog.hpp"

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
#include "tools/ctprof/runtime/machine_delay.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kFirstCheckNs = 4500 * kNsPerMs;
constexpr std::uint64_t kSecondCheckNs = 500 * kNsPerMs;
constexpr std::uint64_t kLateSignalNs = 1000 * kNsPerMs;
constexpr std::uint64_t kMinCpuWaitNs = 2500 * kNsPerMs;  // of a limit, spent waiting for a CPU
constexpr int kMaxLimits = 12;  // restarts while the machine delays the code

// Few programs use real-time signals, and those that do start with the lowest.
int limit_signal() { return SIGRTMAX - 2; }

timer_t g_timer{};
bool g_has_timer = false;

// The call that the timer limits. The signal handler reads these.
std::atomic<const CallOwner*> g_owner{nullptr};
std::atomic<const char*> g_function{""};
std::atomic<bool> g_limits_exit{false};
std::atomic<int> g_status{0};
std::atomic<bool> g_checked_once{false};
std::atomic<std::uint64_t> g_deadline_ns{0};
MachineDelay g_machine_delay;
int g_limit_count = 0;

void set_timer(std::uint64_t ns) {
  if (!g_has_timer) return;
  if (ns > 0) g_deadline_ns = monotonic_ns() + ns;
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(ns / (1000 * kNsPerMs));
  time.it_value.tv_nsec = static_cast<long>(ns % (1000 * kNsPerMs));
  ::timer_settime(g_timer, 0, &time, nullptr);
}

void schedule_check(std::uint64_t ns, bool checked_once) {
  g_checked_once = checked_once;
  set_timer(ns);
}

void start_limit() {
  g_machine_delay.begin();
  g_limit_count = 1;
  schedule_check(kFirstCheckNs, false);
}

[[noreturn]] void report_timeout(const ucontext_t& context) {
  SignalLine line;
  if (g_limits_exit) {
    if (const CallOwner* owner = owner_of_context(context))
      line.put_name(owner->file) << ": its exit handler";
    else
      line << "the exit handler of a plugin";
  } else {
    line.put_call(*g_owner, g_function);
  }
  line << " did not return within " << 5 * g_limit_count << " s" << kRemovalAdvice;
  run_exit_action();
  line.print();
  ::_exit(g_limits_exit ? g_status.load() : kFailed);
}

void on_timer(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  const std::uint64_t now = monotonic_ns(), deadline_ns = g_deadline_ns;
  const bool is_limited = g_owner.load() || g_limits_exit;
  if (!is_own_process() || !is_limited || now < deadline_ns) {
    // The timer belongs to a call that has returned since.
  } else if (now - deadline_ns > kLateSignalNs) {
    schedule_check(kFirstCheckNs, false);
  } else if (!g_checked_once) {
    schedule_check(kSecondCheckNs, true);
  } else if (g_limit_count < kMaxLimits && g_machine_delay.was_delayed(kMinCpuWaitNs)) {
    ++g_limit_count;
    schedule_check(kFirstCheckNs, false);
  } else {
    report_timeout(*static_cast<const ucontext_t*>(context));
  }
  errno = saved_errno;
}

void unblock(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

void create_time_limit_timer() {
  struct sigaction action {};
  action.sa_sigaction = &on_timer;
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
  start_limit();
}

void end_time_limit() {
  g_owner = nullptr;
  set_timer(0);
}

void limit_exit_time(int status) {
  g_status = status;
  g_limits_exit = true;
  start_limit();
}

namespace {

struct Fault {
  int signal;
  std::string_view name;
  bool recurs;  // the instruction raises it again when it is repeated
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

std::atomic<bool> g_has_reported{false};
std::atomic<bool> g_is_exiting{false};

const Fault& find_fault(int signal) {
  for (const Fault& fault : kFaults)
    if (fault.signal == signal) return fault;
  return kFaults.front();
}

// Whether another plugin's code crashed. A signal handler of one plugin may run while a function of
// another one is being called.
bool is_in_other_plugin(const CallOwner& called, const ucontext_t& context) {
  const CallOwner* owner = owner_of_instruction(context);
  return owner && owner->file != called.file;
}

void put_origin(SignalLine& line, const ucontext_t& context) {
  const CallSlot* slot = current_call();
  const CallOwner* called = slot ? slot->owner.load() : nullptr;
  if (called && !is_in_other_plugin(*called, context)) {
    line.put_call(*called, slot->function.load()) << " crashed: ";
  } else if (const CallOwner* owner = owner_of_context(context)) {
    line.put_name(owner->file) << (g_is_exiting ? ": it crashed while ctprof was exiting: "
                                                : ": its code crashed outside of any call: ");
  } else if (!slot && !is_main_thread()) {
    line << "internal error of ctprof, or of code that a plugin left running: ";
  } else {
    line << "internal error of ctprof: ";
  }
}

void report_fault(const Fault& fault, const ucontext_t& context) {
  SignalLine line;
  put_origin(line, context);
  line << "signal " << fault.signal << " (" << fault.name << ")";
  const CallSlot* slot = current_call();
  if ((slot && slot->owner.load()) || owner_of_context(context)) line << kRemovalAdvice;
  line.print();
}

// Whether another process sent the signal. Then no plugin caused it.
bool is_from_other_process(const siginfo_t& info) {
  return info.si_code <= 0 && info.si_pid != ::getpid();
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const Fault& fault = find_fault(signal);
  if (is_own_process() && !is_from_other_process(*info)) {
    // The first thread that crashes prints; threads that crash meanwhile wait until the process
    // ends.
    while (g_has_reported.exchange(true)) ::pause();
    run_exit_action();
    report_fault(fault, *static_cast<const ucontext_t*>(context));
  }
  if (is_own_process()) {
    run_exit_action();
    remove_temporary_files();
  }
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(signal, &default_action, nullptr);
  if (!fault.recurs || info->si_code <= 0) ::raise(signal);
}

bool is_default(int signal) {
  struct sigaction current_action {};
  return ::sigaction(signal, nullptr, &current_action) == 0 &&
         (current_action.sa_flags & SA_SIGINFO) == 0 && current_action.sa_handler == SIG_DFL;
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
  stack_t current_stack{};
  if (number >= kSignalStacks || ::sigaltstack(nullptr, &current_stack) != 0 ||
      (current_stack.ss_flags & SS_DISABLE) == 0)
    return;
  stack_t stack{};
  stack.ss_sp = g_stacks[number].data();
  stack.ss_size = kStackSize;
  ::sigaltstack(&stack, nullptr);
}

[[noreturn]] void reject_exit(const CallOwner* owner, const char* function,
                              std::string_view event) {
  SignalLine line;
  if (owner)
    line.put_call(*owner, function);
  else
    line << "something that a plugin left running";
  line << event << kRemovalAdvice;
  run_exit_action();
  line.print();
  ::_exit(kFailed);
}

// Runs when something calls exit(). Does nothing when ctprof itself exits, or in a process that a
// plugin forked.
void on_exit() {
  if (g_is_exiting || !is_own_process()) return;
  const CallSlot* slot = current_call();
  reject_exit(slot ? slot->owner.load() : nullptr, slot ? slot->function.load() : "",
              " called exit(), which would end ctprof too");
}

void on_thread_exit(const CallOwner& owner, const char* function) {
  reject_exit(&owner, function, " terminated a thread of ctprof (pthread_exit)");
}

// The first stack belongs to the main thread, so thread `number` uses the next one.
void on_thread_start(std::size_t number) { use_signal_stack(number + 1); }

}  // namespace

void install_plugin_watchdog(const void* stack_begin) {
  remember_own_process(stack_begin);
  handle_crashes();
  create_time_limit_timer();
  use_signal_stack(0);
  std::atexit(&on_exit);
  std::at_quick_exit(&on_exit);
  set_call_hooks({&begin_time_limit, &end_time_limit, &on_thread_start, &on_thread_exit});
}

int finish_with_status(int status) {
  g_is_exiting = true;
  limit_exit_time(status);
  return status;
}

}  // namespace ctprof::cli
