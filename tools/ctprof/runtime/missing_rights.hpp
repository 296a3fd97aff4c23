// The notes of a snapshot for a user who lacks capabilities: one line with the command that helps,
// instead of a note of each source.
//
//   cannot read exited threads, 36 metrics and values of other users' processes: Permission denied;
//   run as root: sudo ctprof record -d 10s (ctprof doctor lists more)
//
// The file keeps the notes, and -v prints them.
//
// See also: core/render/denials_text.hpp (which notes the line replaces).

#pragma once

#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// The notes to print. They are those of the snapshot with -v, for root, and for a ctprof that has
// capabilities by its file: these users need each reason.
std::vector<std::string> notes_for_user(const Snapshot& snapshot, const Options& options);

}  // namespace ctprof::cli
