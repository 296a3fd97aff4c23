// Plugins that misbehave while they run are named, with their file and function, before the program
// ends.
//
// Misbehaviour is: a crash (SIGSEGV and the like), a call of exit(), ending one of our threads, and
// taking longer than 5 s in a constructor, in `probe`, or at the program's end. After a crash the
// program dies of the same signal as it would have otherwise, core dump included.
//
// A process that a plugin forks is left alone, and so is a signal that another process sends.
//
// The time limit is in time_limit.hpp; the marks that tell who is called are those of
// core/registry/plugin_call.hpp.

#pragma once

namespace ctprof::cli {

// Installs the handlers. `stack_begin`: an address near the start of the main thread's stack, such
// as argv. REQUIRES: called once, before any plugin is loaded.
void watch_conduct(const void* stack_begin);

// Returns `status` for main() to return, and gives what plugins run at exit 5 s.
// REQUIRES: called last in main().
int end_with(int status);

}  // namespace ctprof::cli
