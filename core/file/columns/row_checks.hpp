// Checks the rows of a block: each has its identity, and the rows are sorted. Code that uses a
// snapshot relies on this.

#pragma once

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Sorts kept keys by row, and checks all tables. The error names the first violation.
Result<void> check_and_sort_rows(Snapshot& snapshot);

// Sorts kept keys by row, and checks the identities and the order of rows that only the opening of
// a window has. The error names the first violation.
Result<void> check_and_sort_opening_only(Snapshot& opening_only);

}  // namespace ctprof::columns
