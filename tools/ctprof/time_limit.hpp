// The limit of 5 s for a plugin's constructors, for its `probe`, and for what plugins run when the
// program ends.
//
// A timer's signal checks after 4.5 s and again half a second later; no thread is needed. A signal
// that comes late means that the process was stopped or the machine was overloaded; the time then
// starts anew.

#pragma once

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// Creates the timer. REQUIRES: called once, before the functions below.
void make_time_limit();

// Starts the limit. If end_time_limit() is not called within 5 s, prints a line that names the
// call, and ends the program with kFailed.
void begin_time_limit(const CallOwner& owner, const char* function);
void end_time_limit();

// If the program does not end within 5 s, names the plugin that keeps it, if known, and ends it
// with `status`.
void limit_end(int status);

}  // namespace ctprof::cli
