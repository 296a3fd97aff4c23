// Man pages from the tables that --help uses and from the metrics that plugins declare, so that all
// of them agree. The build runs `ctprof manual PAGE` for each page and installs the output. Man
// pages with prose come from README files (manual/from_markdown.py).

#pragma once

#include <span>

namespace ctprof::cli {

// Prints a page: "ctprof.1", "ctprof-show.1" and so on for each command, or "ctprof-metrics.7". It
// is not in the table of commands, because settings of the user must not affect a man page.
int run_manual(std::span<const char* const> words);

}  // namespace ctprof::cli
