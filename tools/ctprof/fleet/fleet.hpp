// ctprof fleet: queries over thousands of captures.
//
// ctprof implements the parts that need its own code: reading files, aggregating rows to groups by
// the metrics' rules, the statistics, and the grammar of expressions. The index and the queries are
// a Python package on DuckDB (tools/fleet). The package calls ctprof through five subcommands. They
// are an interface between ctprof and its package of the same version, and may change with any
// version:
//
//   ctprof fleet read  [--group-by KEY] [--jobs N]   paths, each followed by a NUL -> figures
//   ctprof fleet judge                               figures of hosts -> p values, intervals
//   ctprof fleet match                               names of groups -> those of --about
//   ctprof fleet parse EXPR                          an expression -> a tree
//   ctprof fleet time TEXT                           a point in time -> ns since 1970
//   ctprof fleet significance [OPTION VALUE...]      values of --alpha and --min-shift -> fractions
//
// All text is JSON in UTF-8, one object per line. README.md describes it completely. The package
// handles all other arguments of `fleet`.
//
// See also: tools/ctprof/runtime/python.hpp (starts the package).

#pragma once

#include <span>

namespace ctprof::cli {

// `words`: the arguments after `fleet`. Returns the exit status.
int run_fleet_words(std::span<const char* const> words);

// The internal subcommands. `words`: the arguments after the subcommand.
int run_fleet_read(std::span<const char* const> words);
int run_fleet_judge(std::span<const char* const> words);
int run_fleet_match(std::span<const char* const> words);
int run_fleet_parse(std::span<const char* const> words);
int run_fleet_time(std::span<const char* const> words);
int run_fleet_significance(std::span<const char* const> words);

}  // namespace ctprof::cli
