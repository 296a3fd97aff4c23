// Detects plugins that crash, exit or do not return. Prints their file and function before the
// program ends.
//
// This includes a crash (a signal such as SIGSEGV), a call of exit(), terminating one of
// ctprof's threads, and taking longer than 5 s in a constructor, in `probe`, or at program exit.
// After a crash the program ends with the same signal as without this code, including the core
// dump.
//
// A timer signal enforces the time limit; no thread is needed. It checks after 4.5 s and again half
// a second later. If a signal is delivered late, the process was stopped or the machine was
// overloaded, and the limit starts again. It also starts again if the thread waited for a CPU for
// half of the limit, or if the process read from a disk meanwhile, for up to one minute in total:
// users also examine hosts that are short of CPU or disk bandwidth.
//
// Processes that a plugin forks, and signals that another process sends, are ignored.
// core/registry/plugin_call.hpp records which plugin is being called.

#pragma once

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// Creates the timer. REQUIRES: called once, before the functions below.
void create_time_limit_timer();

// Starts the limit for the calling thread. If end_time_limit() is not called within 5 s, prints a
// line that names the call, and ends the program with kFailed.
void begin_time_limit(const CallOwner& owner, const char* function);
void end_time_limit();

// If the program does not end within 5 s, names the plugin that delays it, if known, and ends it
// with `status`.
void limit_exit_time(int status);

// Installs the signal and exit handlers. `stack_begin` is an address near the start of the main
// thread's stack, such as argv. REQUIRES: called once, before any plugin is loaded.
void install_plugin_watchdog(const void* stack_begin);

// Returns `status` for main() to return, and limits the exit handlers of plugins to 5 s. REQUIRES:
// called last in main().
int finish_with_status(int status);

}  // namespace ctprof::cli
