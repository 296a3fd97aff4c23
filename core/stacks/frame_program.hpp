// Runs the program of a function's call frame information up to one address, and says what rule
// holds there.
//
// A program is a list of steps: from here on, the CFA is that, and this register is saved there.
// Its length is bounded, and so is the stack of states that it may remember; one that goes beyond,
// or is cut short, gives Cfa::Unknown.

#pragma once

#include "core/stacks/frame_entries.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

// REQUIRES: `function` covers `address`.
Rule rule_in(const FunctionEntry& function, FileAddress address, const RegisterNumbers& registers);

}  // namespace ctprof
