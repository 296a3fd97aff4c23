// The capabilities that the executable gave ctprof, and when it drops them.
//
// They are for reading threads that the kernel hides from whoever started ctprof, not for opening
// files that the user names: otherwise a ctprof with cap_dac_read_search would show anybody
// everybody's snapshots. Verbs that do not read the kernel drop them first, and capture keeps them
// only while it reads. A process that got nothing from its file (AT_SECURE is 0) keeps what its
// user has.
//
// setuid executables are not supported. REQUIRES: the calling thread is the only one.

#pragma once

#include <functional>

#include "core/base/result.hpp"

namespace ctprof::cli {

// Drops them for good.
Result<void> drop_privileges();

// Runs `activity` without them, and returns what it returns.
Result<void> without_privileges(const std::function<Result<void>()>& activity);

}  // namespace ctprof::cli
