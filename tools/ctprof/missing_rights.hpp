// What a user who is not root misses, in one line with the command that helps, instead of a
// sentence of each source.
//
//   cannot read exited threads, 36 metrics and values of other users' processes: Permission denied;
//   run as root: sudo ctprof record -d 10s (ctprof doctor lists more)
//
// The file keeps the sentences, and -v prints them.

#pragma once

#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof::cli {

// The notes of the snapshot as this user reads them: where it is not root, one line replaces those
// of what was denied. Unchanged with -v.
std::vector<std::string> notes_for_user(const Snapshot& snapshot, const Options& options);

// That line; empty where the user is root, or nothing was denied.
std::string missing_rights(const Snapshot& snapshot);

}  // namespace ctprof::cli
