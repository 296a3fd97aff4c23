#include "tools/ctprof/conduct.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "core/file/write/doomed_file.hpp"
#include "core/registry/plugin_call.hpp"
#include "tools/ctprof/signals.hpp"
#include "tools/ctprof/time_limit.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

struct Fault {
  int signal;
  std::string_view name;
  bool comes_again;  // when the instruction that raised it runs once more
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

// Room for the largest frame that a processor's registers need, and our handler.
constexpr std::size_t kStackSize = 64 * 1024;
constexpr std::size_t kStacks = 64;
alignas(64) std::array<std::array<std::byte, kStackSize>, kStacks> g_stacks;

std::atomic<bool> g_said{false};
std::atomic<bool> g_ending{false};

const Fault& fault_of(int signal) {
  for (const Fault& fault : kFaults)
    if (fault.signal == signal) return fault;
  return kFaults.front();
}

// A signal handler of one plugin may run, and crash, while another one is called.
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
                                        : ": code of it crashed that nobody called: ");
  } else if (!slot && !is_main_thread()) {
    line << "a fault of ctprof itself, or of something that a plugin left running: ";
  } else {
    line << "a fault of ctprof itself: ";
  }
}

void say(const Fault& fault, const ucontext_t& context) {
  SignalLine line;
  put_culprit(line, context);
  line << "signal " << fault.signal << " (" << fault.name << ")";
  const CallSlot* slot = current_call();
  if ((slot && slot->owner.load()) || owner_of_context(context)) line << kDoWithout;
  line.say();
}

// Somebody else's kill is nobody's fault.
bool is_sent_by_another(const siginfo_t& info) {
  return info.si_code <= 0 && info.si_pid != ::getpid();
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const Fault& fault = fault_of(signal);
  if (is_own_process() && !is_sent_by_another(*info)) {
    // The first to crash speaks; whoever crashes meanwhile waits for the end.
    while (g_said.exchange(true)) ::pause();
    say(fault, *static_cast<const ucontext_t*>(context));
  }
  if (is_own_process()) remove_doomed_files();
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

// Leaves a handler that is already there, a sanitizer's for example, in place.
void handle_crashes() {
  struct sigaction action {};
  action.sa_sigaction = &on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  for (const Fault& fault : kFaults)
    if (is_default(fault.signal)) ::sigaction(fault.signal, &action, nullptr);
}

// Gives the calling thread a stack for signal handlers, so that a thread that overflowed its own
// stack can be named too. Does nothing beyond kStacks, or if the thread has one already.
void use_signal_stack(std::size_t number) {
  stack_t now{};
  if (number >= kStacks || ::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
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
  line.say();
  ::_exit(kFailed);
}

// Runs when somebody calls exit(). At our own end, and in a process that a plugin forked, there is
// nothing to say.
void at_exit() {
  if (g_ending || !is_own_process()) return;
  const CallSlot* slot = current_call();
  refuse_end(slot ? slot->owner.load() : nullptr, slot ? slot->function.load() : "",
             " called exit(), which would end ctprof too");
}

void at_thread_end(const CallOwner& owner, const char* function) {
  refuse_end(&owner, function, " ended a thread of ctprof's (pthread_exit)");
}

// The first stack is the main thread's, which may wait for another that has the first number.
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
