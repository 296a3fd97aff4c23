// Conjunctions: a program that says "A && B", taken apart.

#pragma once

#include <vector>

#include "core/expression/program.hpp"

namespace ctprof {

// What a condition joins by && at the top, from left to right; the program itself where it joins
// nothing. Each has its own inputs alone.
std::vector<Program> joined_by_and(const Program& program);

}  // namespace ctprof
