// What must hold of a block's rows, whoever wrote them: who they are is known, and they are in
// order, so that everything else may rely on it.

#pragma once

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Puts kept keys in the order of their rows, and says what does not hold.
Result<void> settle_rows(Snapshot& snapshot);

// Whether rows that only the opening of a window has can be told apart, and are in order. The error
// says which cannot.
Result<void> check_opening_only(const Snapshot& opening_only);

}  // namespace ctprof::columns
