// Selects the notes of a snapshot to print for a user who lacks capabilities: one line with a
// command that helps replaces the notes of the individual sources.
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
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// Returns the notes to print. With -v, for root, and for a ctprof with file capabilities, these are
// the notes of the snapshot, because such users need each reason. `runs_command`: the command line
// also starts a program of the user.
std::vector<std::string> notes_for_user(const Snapshot& snapshot, const CommonOptions& options,
                                        bool runs_command = false);

}  // namespace ctprof::cli
