// Access to the state of StackSum: the stacks of a group with their weights.

#pragma once

#include <span>

#include "ctprof/abi.h"

namespace ctprof::rules {

// Returns whether this is the built-in rule, whose states contain their stacks.
bool is_stack_sum(const ctprof_rule& rule);

// Returns the stacks in ascending order without duplicates. Valid as long as the state. REQUIRES: a
// finished state of such a rule.
std::span<const ctprof_stack> stacks_in(const void* state);

}  // namespace ctprof::rules
