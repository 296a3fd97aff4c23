// Checks what a recorder hands over before anything of it is used.
//
// See also: records.hpp (drives recorders and keeps their records).

#pragma once

#include <cstddef>
#include <string>

#include "core/registry/plan.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// What is wrong with a record, as "of the impossible thread 0/0"; empty if nothing is.
// `tables`: how many unwind tables the source has.
std::string fault_of(const ctprof_record& record, const PlannedSource& planned, std::size_t tables);
// The same of a change to the memory of a process.
std::string fault_of(const ctprof_change& change);

}  // namespace ctprof
