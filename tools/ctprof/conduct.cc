#include "tools/ctprof/conduct.hpp"

#include <unistd.h>

#include <cstdlib>

#include "core/registry/plugin_call.hpp"
#include "tools/ctprof/crash.hpp"
#include "tools/ctprof/own_process.hpp"
#include "tools/ctprof/signal_line.hpp"
#include "tools/ctprof/time_limit.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

[[noreturn]] void refuse_end(const CallOwner* owner, const char* function, std::string_view deed) {
  SignalLine line;
  if (owner)
    line.call(*owner, function);
  else
    line << "something that a plugin left running";
  line << deed << kDoWithout;
  line.say();
  ::_exit(kFailed);
}

// Runs when somebody calls exit(). At our own end, and in a process that a plugin forked, there is
// nothing to say.
void at_exit() {
  if (is_ending() || !is_own_process()) return;
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
  expect_end();
  limit_end(status);
  return status;
}

}  // namespace ctprof::cli
