// ctprof fleet: thousands of captures, asked as one.
//
// What is ctprof's own business is done here, and written once: reading files, reducing rows to
// groups by the metrics' rules, the statistics, the grammar of expressions. The index and its
// questions are a Python package on DuckDB (tools/fleet). It calls ctprof back for the former, by
// four subcommands that are between ctprof and its package of the same version, and may change
// with any:
//
//   ctprof fleet read  [--group-by KEY] [--jobs N]   paths, a NUL behind each -> figures
//   ctprof fleet judge                               figures of hosts -> how sure differences are
//   ctprof fleet match                               names of groups -> those of --about
//   ctprof fleet parse EXPR                          an expression -> a tree
//
// All text is JSON in UTF-8, an object a line. What is written, the package's README has whole.
// Everything else that stands behind `fleet` is the package's.
//
// Not here: how to start the package (tools/ctprof/runtime/python.hpp).

#pragma once

#include <span>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// The verb, where it does not come first.
int run_fleet(const Options& options);

// `words`: what stands behind `fleet`. Returns the exit status.
int run_fleet_words(std::span<const char* const> words);

// The plumbing. `words`: what stands behind the subcommand.
int run_fleet_read(std::span<const char* const> words);
int run_fleet_judge(std::span<const char* const> words);
int run_fleet_match(std::span<const char* const> words);
int run_fleet_parse(std::span<const char* const> words);

}  // namespace ctprof::cli
