// Makes a snapshot of what a pass has found: explains the gaps, restores exact names, puts rows in
// order, and gives processes their own table again.

#pragma once

#include "core/base/result.hpp"
#include "core/file/read/draft.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The error is the place and the reason. The draft is spent.
Result<Snapshot> settle(Draft& draft);

}  // namespace ctprof
