// Checks the rows that a source listed.

#pragma once

#include <string>

#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Returns why the rows are unusable, or "". Each thread must have a tid and a tgid. Each row of an
// entity of a plugin must have a value in all of its identity columns, and no two rows the same
// values.
std::string find_listing_fault(ctprof_stage stage, const Table& table, const Pools& pools);

}  // namespace ctprof
