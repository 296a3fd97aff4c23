// What the arguments of show and compare mean: which runs there are, and whose they are.
//
//   FILE, FILE#N     a snapshot or a window; of a file that holds several windows, its runs
//   A..B             two snapshots of one boot, read as a window
//   DIR              the windows in it, as `record --repeat` makes them: its runs
//   DIR of --every   the windows of --since and --until, those back to back made one; where two
//                    such spans are compared, in blocks (span_blocks.hpp)
//   DIR of --interleave, alone under compare, report or flame: its two sides
//
// Two snapshots of one boot are a window also as two arguments.
//
// What is here:   reading the arguments, making windows of snapshots, which forms fit together.
// What is not:    which files arguments name (given.hpp), differences and figures (core/window,
//                 core/compare), the report (report.cc).

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

struct Sides {
  std::vector<std::string> names;  // of each side, for people
  std::vector<std::size_t> sizes;  // how many runs each has
  std::vector<Snapshot> runs;      // all snapshots, or all windows; no differences were made yet
  std::vector<std::string> files;  // of each run, where the runs are outlines; empty otherwise
};

// Whether runs may be outlines (core/file/file.hpp), whose rows are read one after the other later.
enum class Rows { Now, MayBeLater };

// Takes a snapshot of this host, for `compare FILE`.
using TakeNow = std::function<Result<Snapshot>()>;

// Reads what the arguments name, by a few OS threads. One side is to be shown, several are to be
// compared with the first. The error says what was tried, and what would fit.
Result<Sides> read_sides(const Options& options, const Vocabulary& vocabulary,
                         const TakeNow& take_now, Rows rows = Rows::Now);

// Whether the arguments may need a snapshot of this host: `compare FILE`.
bool may_need_now(const Options& options);

}  // namespace ctprof::cli
