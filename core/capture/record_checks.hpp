// Validates the records of a recorder before they are used.
//
// See also: active_recorders.hpp runs recorders and stores their records.

#pragma once

#include <cstddef>
#include <string>

#include "core/registry/plan.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Returns the error in a record, such as "of the invalid thread 0/0"; empty if it is valid.
// `tables`: how many unwind tables the source has.
std::string find_error(const ctprof_record& record, const PlannedSource& planned,
                       std::size_t tables);
// Same for a change to the memory of a process.
std::string find_error(const ctprof_change& change);

}  // namespace ctprof
