// Checks what a recorder hands over before anything of it is used.
//
// See also: records.hpp (drives recorders and keeps their records).

#pragma once

#include <string>

#include "core/registry/plan.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// What is wrong with a record, as "of the impossible thread 0/0"; empty if nothing is.
std::string fault_of(const ctprof_record& record, const PlannedSource& planned);
// The same of a change to the memory of a process.
std::string fault_of(const ctprof_change& change);

}  // namespace ctprof
