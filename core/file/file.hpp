// Writes snapshot files: zstd-compressed JSON, either in the reference's layout with keys of our
// own that the reference ignores, or in columns.
//
// See also: capture_file.hpp, which loads files; registry/metric_def.hpp: the metrics' definitions
// determine the key of each metric.

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

// The layout of a file: rows, which the reference's tools can read, or columns, which ctprof reads
// fastest (columns/write_columns.hpp).
enum class FileLayout { Rows, Columns };

// Options of write_file().
struct WriteOptions {
  FileLayout layout = FileLayout::Rows;
  unsigned workers = 0;  // number of workers; 0: as many as the host can spare
  bool sync = true;      // call fsync before the file gets its name
  // zstd level; none: the best one for the layout. The header of a columns file uses at most
  // level 1.
  std::optional<int> level = {};
  int standard_output = STDOUT_FILENO;  // the descriptor for "-"
};

// Sizes and duration of a written file.
struct WriteResult {
  std::uint64_t json_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t sync_ns = 0;  // time spent waiting for the disk; 0 without fsync
};

// Writes a new file in the same directory, syncs and renames it. Readers never see an incomplete
// file, and an existing file stays unchanged on any error. "-" writes to standard output. Only the
// owner can access a new file. `vocabulary` determines which keys the file has even if the snapshot
// lacks their columns.
Result<WriteResult> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                               const Destination& destination, const WriteOptions& options = {});
Result<WriteResult> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                               const std::string& path, const WriteOptions& options = {});

// Returns the snapshot as the bytes of one block in columns, which can be appended to other blocks.
// Throws bad_alloc.
Result<std::string> serialize_block(const Snapshot& snapshot, unsigned workers = 0);

// Checks that a file can be written to `path`, before a long operation whose result would be lost.
// Writes nothing; keeps the directory open.
Result<Destination> check_output(const std::string& path);
// The same for a regular file in an open directory (Destination::resolve_in).
Result<Destination> check_output_in(int directory, const std::string& name,
                                    const std::string& path);

}  // namespace ctprof
