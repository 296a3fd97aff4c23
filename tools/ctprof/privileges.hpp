// Capabilities that ctprof got from its file, and when it lays them down.
//
// They are there to read of threads what the kernel keeps from whoever started ctprof, and not to
// open files that the user names: without this, a ctprof with cap_dac_read_search would show
// anybody everybody's snapshots. So verbs that look at no kernel drop them first, and capture has
// them only while it reads. A process that got nothing from its file (AT_SECURE is 0) keeps what
// its user has.
//
// What is here:   capabilities of this thread. REQUIRES: it is the only one.
// What is not:    another user by setuid, which nobody is told to make of ctprof; what plugins may
// then be loaded (core/registry/loader.hpp).

#pragma once

#include <functional>

#include "core/base/result.hpp"

namespace ctprof::cli {

// For good.
Result<void> drop_privileges();

// What `deed` returns, which is done without them.
Result<void> without_privileges(const std::function<Result<void>()>& deed);

}  // namespace ctprof::cli
