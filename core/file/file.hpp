// The snapshot file: zstd-compressed JSON, in the reference's layout with keys of our own that the
// reference ignores, or in columns.
//
// What is here:   writing and loading, whole.
// What is not:    which key is where: that comes out of the metrics' definitions
// (registry/metric_def.hpp).

#pragma once

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Destination;  // core/file/write/destination.hpp

// How a file is laid out: rows as the reference's tools read them, or columns as ours read them
// best (columns/write_columns.hpp).
enum class FileLayout { Rows, Columns };

struct WriteOptions {
  FileLayout layout = FileLayout::Rows;
  unsigned workers = 0;  // that make the text; 0: what the host can spare
  bool sync = true;      // fsync before the file takes its name
  // Of zstd; none: the one that suits the layout. A header in columns has at most 1.
  std::optional<int> level = {};
  int standard_output = STDOUT_FILENO;  // what "-" stands for
};

struct Written {
  std::uint64_t json_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t sync_ns = 0;  // spent waiting for the disk; 0 where nothing was synced
};

// Makes a new file in the same directory, syncs, renames: nobody sees half a file, and on any error
// the file that was there stays. "-" writes to standard output. A new file is its owner's alone.
// `vocabulary` says which keys a file has even where the snapshot has no column.
Result<Written> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                           const Destination& place, const WriteOptions& options = {});
Result<Written> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                           const std::string& path, const WriteOptions& options = {});

// The snapshot in columns as the bytes of one block, which may stand behind others in a file.
// Throws bad_alloc.
Result<std::string> block_of(const Snapshot& snapshot, unsigned workers = 0);

// Where a file can be written, asked before work that would be lost otherwise. Nothing is written;
// the directory stays open.
Result<Destination> check_output(const std::string& path);

// Reads a file of ours, in either layout, or the reference's; "-" reads standard input.
// `vocabulary` types the columns of a file that has no registry of its own; a file that has one is
// read by that alone. `FILE#2` is the second capture of a file that holds several; without a number
// the first is read, and `told` says so. The error names the file, the place and the reason.
Result<Snapshot> load_file(const std::string& argument, const Vocabulary& vocabulary);

// What a file says of its window before the rows: a snapshot with columns and no rows, by which a
// report can be planned before the rows are read, by load_file(). None where the file is none of
// ours in columns, or holds something else than one whole window. That it says when each thread was
// seen is taken for granted. The error is as above.
Result<std::optional<Snapshot>> load_outline(const std::string& path);

// Reads all windows of a file that holds windows, one after the other. Of another file, and of
// `FILE#2`, it reads what load_file() does. The error is as there; it is one, too, if a snapshot is
// among the windows, or if they take more memory than one file may.
Result<std::vector<Snapshot>> load_runs(const std::string& argument, const Vocabulary& vocabulary);

}  // namespace ctprof
