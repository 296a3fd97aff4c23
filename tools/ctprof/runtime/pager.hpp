// Shows long text on a terminal in a pager, as git does.
//
// The pager is CTPROF_PAGER, then PAGER, then less. If its command contains blanks or characters
// that are special to a shell, sh runs it. An empty string or `cat` disables the pager. LESS and
// LV, unless they are set, make the pager exit immediately if the text fits the terminal, leave the
// text on the screen, and keep colors. There is no pager if standard output is not a terminal, with
// --no-pager, or if ctprof has file capabilities: programs that the environment names must not get
// them.

#pragma once

#include <string_view>

#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// Writes text for people to standard output, through the pager if there is one, and returns when
// the pager exits. If the pager cannot be run or fails, prints the text directly. Quitting the
// pager early is not an error. Meanwhile Ctrl-C affects only the pager. Returns kSuccess, or fails
// like print().
int print_paged(const CommonOptions& options, std::string_view text);

}  // namespace ctprof::cli
