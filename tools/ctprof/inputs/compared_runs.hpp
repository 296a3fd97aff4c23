// Records which runs the user has compared, so that a comparison can report whether the groups of
// --about may have been selected because of an earlier result.
//
// The file $XDG_STATE_HOME/ctprof/compared (by default in ~/.local/state) has a line for each
// comparison of several runs: hashes of the runs and of --about. It contains no names. If the file
// or its directory cannot be read or written, or belongs to another user, nothing is stored and the
// comparison continues.

#pragma once

#include <string_view>

namespace ctprof::cli {

// Records a comparison of the runs that `runs` identifies (Spec::record_comparison) with this
// --about (empty: none). Returns whether a comparison of the same runs with another --about was
// recorded.
bool record_comparison(std::string_view runs, std::string_view about);

}  // namespace ctprof::cli
