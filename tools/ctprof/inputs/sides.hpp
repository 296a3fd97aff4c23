// Combines the arguments of show and compare into sides and their runs.
//
//   FILE, FILE#N     a snapshot or a window; a file with several windows contains several runs
//   A..B             two snapshots of the same boot, read as a window
//   DIR              its windows, as written by `record --repeat`: one run each
//   DIR of --every   the windows of --since and --until; consecutive ones are joined. If two
//                    such spans are compared, they are split into blocks (span_blocks.hpp)
//   DIR of --interleave, as the only argument of compare, report or flame: its two sides
//
// Two snapshots of the same boot are also a window if they are two arguments.
//
// Contents: reading the arguments, building windows from snapshots, checking which forms can be
// combined. See also: files of arguments (capture_arguments.hpp), differences and figures
// (core/window, core/compare), the report (report.cc).

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/input_options.hpp"

namespace ctprof::cli {

struct Sides {
  std::vector<std::string> names;  // of each side, as shown
  std::vector<std::size_t> sizes;  // number of runs of each side
  std::vector<Snapshot> runs;      // only snapshots or only windows; differences are not computed
                                   // yet
  std::vector<std::string> files;  // of each run, if the runs are outlines; empty otherwise
};

// Whether runs may be outlines (core/file/file.hpp), whose rows are read one after another later.
enum class RowLoading { Immediate, MayBeDeferred };

// Takes a snapshot of this host, for `compare FILE`.
using TakeSnapshot = std::function<Result<Snapshot>()>;

// Reads the files of the arguments in a few threads. One side is shown; several sides are compared
// with the first. The error names what was attempted and what would be valid.
Result<Sides> read_sides(const InputOptions& options, const Vocabulary& vocabulary,
                         const TakeSnapshot& take_snapshot,
                         RowLoading row_loading = RowLoading::Immediate);

// Whether the arguments may require a snapshot of this host: `compare FILE`.
bool may_need_host_snapshot(const InputOptions& options);

}  // namespace ctprof::cli
