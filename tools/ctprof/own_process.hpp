// Which process and which stack are ours, for signal handlers. A child that a plugin forks has our
// handlers, and must not speak for us.

#pragma once

#include <ucontext.h>

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// Remembers this process, and where the main thread's stack begins. REQUIRES: from main.
void remember_own_process(const void* stack_begin);
bool is_own_process();
bool is_main_thread();

// Whose code the thread was in when the signal came, by its program counter, or on the main thread
// by what its stack returns to. Null where that is no plugin's. Safe in a signal handler.
const CallOwner* owner_of_context(const ucontext_t& context);
// By the program counter alone.
const CallOwner* owner_of_instruction(const ucontext_t& context);

}  // namespace ctprof::cli
