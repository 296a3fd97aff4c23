// Long text on a terminal is read in a pager, as with git.
//
// CTPROF_PAGER names it, else PAGER, else it is less; one with blanks or other letters that mean
// something to a shell is run by sh. Empty or `cat` is none. LESS and LV, where they are not set,
// let it end by itself if the text fits the terminal, leave the text there, and keep colours. There
// is none where standard output is no terminal, under --no-pager, nor where ctprof has
// capabilities of its file: they are not for programs that the environment names.

#pragma once

#include <string_view>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Writes text for people to standard output, by the pager if there is one, and returns when that
// has ended. A pager that cannot be run, or fails, is done without; one that was left before the
// end is fine. Ctrl-C is for the pager meanwhile. Returns kFine, or fails as print() does.
int page(const Options& options, std::string_view text);

}  // namespace ctprof::cli
