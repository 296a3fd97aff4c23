// Plugins that misbehave while they run are named, with their file and function, before the program
// ends.
//
// Misbehaviour is: a crash (SIGSEGV and the like), a call of exit(), ending one of our threads, and
// taking longer than 5 s in a constructor, in `probe`, or at the program's end. After a crash the
// program dies of the same signal as it would have otherwise, core dump included.
//
// For the time limit a timer's signal checks after 4.5 s and again half a second later; no thread
// is needed. A signal that comes late means that the process was stopped or the machine was
// overloaded; the time then starts anew. It also does where the thread waited for a CPU for half of
// it, or the process read from a disk meanwhile, up to a minute in all: a host that is short of
// either is one that people want to look at.
//
// A process that a plugin forks is left alone, and so is a signal that another process sends. The
// marks that say which plugin is called are those of core/registry/plugin_call.hpp.

#pragma once

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// Creates the timer. REQUIRES: called once, before the functions below.
void make_time_limit();

// Starts the limit, for the calling thread. If end_time_limit() is not called within 5 s, prints a
// line that names the call, and ends the program with kFailed.
void begin_time_limit(const CallOwner& owner, const char* function);
void end_time_limit();

// If the program does not end within 5 s, names the plugin that keeps it, if known, and ends it
// with `status`.
void limit_end(int status);

// Installs the handlers. `stack_begin`: an address near the start of the main thread's stack, such
// as argv. REQUIRES: called once, before any plugin is loaded.
void watch_conduct(const void* stack_begin);

// Returns `status` for main() to return, and gives what plugins run at exit 5 s.
// REQUIRES: called last in main().
int end_with(int status);

}  // namespace ctprof::cli
