// Remembers which runs the user has compared, so that a comparison can tell whether the groups of
// --about may have been selected because of an earlier result.
//
// The file $XDG_STATE_HOME/ctprof/compared (by default in ~/.local/state) has a line for each
// comparison of several runs: hashes of the runs and of --about. It contains no names. Where it
// cannot be read or written, nothing is remembered, and the comparison goes on.

#pragma once

#include <string>
#include <string_view>

namespace ctprof::cli {

// Whether these runs were compared before without this --about (empty: none). Remembers the
// comparison. `runs` identifies them (Spec::was_compared).
bool were_compared(std::string_view runs, std::string_view about);

}  // namespace ctprof::cli
