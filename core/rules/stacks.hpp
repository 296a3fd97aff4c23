// What StackSum gathers: the stacks of a group, with their weights.

#pragma once

#include <span>

#include "ctprof/abi.h"

namespace ctprof::rules {

// Whether it is the built-in rule, whose states can be asked for their stacks.
bool gathers_stacks(const ctprof_rule& rule);

// Ascending by stack, each once. Valid as long as the state. REQUIRES: a finished state of such a
// rule.
std::span<const ctprof_stack> stacks_in(const void* state);

}  // namespace ctprof::rules
