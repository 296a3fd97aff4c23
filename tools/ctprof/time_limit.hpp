// The 5 s that a plugin's constructors and its `probe` may take, and what plugins run when the
// program ends.
//
// A timer's signal looks after 4.5 s and again after another half: no thread is needed. A signal
// that comes late says that the process was stopped, or the machine had no time for it; then the
// time begins anew.

#pragma once

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// REQUIRES: once, before any of the below.
void make_time_limit();

// Unless `end_time_limit` comes within 5 s, names the call in one line and ends the program with
// kFailed.
void begin_time_limit(const CallOwner& owner, const char* function);
void end_time_limit();

// Unless the program ends within 5 s, names who keeps it, as far as that can be told, and ends it
// with this status.
void limit_end(int status);

}  // namespace ctprof::cli
