// Checks the values of a plugin in captures: each in the range of its newtype, counters and peaks
// that never fall. For `plugin check`.

#pragma once

#include "core/registry/plugin.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/plugin/findings.hpp"

namespace ctprof::cli {

// Checks the columns that the plugin filled in the later of two captures. At most one fault is
// reported for each column and kind of fault.
void check_tables(const Snapshot& before, const Snapshot& after, const Plugin& plugin,
                  Findings& findings);

}  // namespace ctprof::cli
