// What becomes of plugins that misbehave while they run: each is named, with its file and function,
// before the program ends.
//
// That is: a crash (SIGSEGV and the like), a call of exit(), a constructor or `probe` that takes
// longer than 5 s, a thread of ours that is ended, a crash or a hang while the program ends. A
// crash ends us by the same signal as it would have without us, core dump included.
//
// A process that a plugin forks is left alone, and so is a signal that somebody else sends.
//
// What is here:   when what is watched.
// What is not:    the handlers (crash.hpp, time_limit.hpp), the marks that they read
// (core/registry/plugin_call.hpp).

#pragma once

namespace ctprof::cli {

// `stack_begin` lies where the main thread's stack begins, as argv does. REQUIRES: once, before any
// plugin is loaded.
void watch_conduct(const void* stack_begin);

// From here on the program ends, with this status. What plugins run at the end may take 5 s.
// REQUIRES: from main, last.
int end_with(int status);

}  // namespace ctprof::cli
