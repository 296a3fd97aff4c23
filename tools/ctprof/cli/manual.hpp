// Man pages, out of the tables that --help uses and the metrics that plugins declare, so that
// neither can drift. The build runs `ctprof manual PAGE` for each and installs what it says; pages
// of prose are made of READMEs (manual/from_markdown.py).

#pragma once

#include <span>

namespace ctprof::cli {

// Prints a page: "ctprof.1", "ctprof-show.1" and the like for each verb, "ctprof-metrics.7". It
// stands apart from other verbs: nobody's settings are a part of a manual.
int run_manual(std::span<const char* const> words);

}  // namespace ctprof::cli
