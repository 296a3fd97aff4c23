// Signals that mean a fault: who was at fault is said in one line, and then the signal does what it
// would have done.

#pragma once

#include <cstddef>

namespace ctprof::cli {

// Where a handler is there already, a sanitizer's for example, it stays.
void handle_crashes();

// Gives the calling thread a stack for handlers, so that one which overflowed its own can be named
// too. Threads without a number, and those that have such a stack, are left as they are.
void use_signal_stack(std::size_t number);

// From here on the program ends: a crash is then of something that a plugin left to run at the end.
void expect_end();
bool is_ending();

}  // namespace ctprof::cli
