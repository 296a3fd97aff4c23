// What StackSum gathers: the stacks of a group, with their weights.

#pragma once

#include <cstdint>
#include <span>

#include "ctprof/abi.h"

namespace ctprof::rules {

// Whether it is the built-in rule, whose states can be asked for their stacks.
bool gathers_stacks(const ctprof_rule& rule);

// Ascending by stack, each once. Valid as long as the state. REQUIRES: a finished state of such a
// rule.
std::span<const ctprof_stack> stacks_in(const void* state);

// What they weigh together; the largest number where that is too much.
std::uint64_t weight_of(std::span<const ctprof_stack> stacks);

}  // namespace ctprof::rules
