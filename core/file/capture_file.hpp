// Reads files of captures, in either layout: those of ctprof, and those of the reference.
//
//   CTPROF_TRY_VALUE(const CaptureFile file, CaptureFile::open("runs.ctprof.zst#2"));
//   CTPROF_TRY_VALUE(const Snapshot snapshot, file.load(vocabulary));
//
// This is the only way to load a file; load_file() does both steps. The layout is detected from the
// content.
//
// Guarantees:
//   - An error names the file, the place and the reason.
//   - A file cannot cause more memory, work or output than its size allows (layout/limits.hpp).
//
// `vocabulary` defines the columns of a file without a registry; a file with a registry is read
// with that only.
//
// Threads: any number of threads may load from one CaptureFile.
//
// See also: file.hpp, which writes files.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Identifies one capture of a file that may hold several.
struct CaptureName {
  std::string path;
  std::size_t number = 1;
  bool has_number = false;  // the argument contains the number
};

// Parses `FILE` or `FILE#N`. If a file with the complete name exists, the argument is its path.
CaptureName parse_capture_name(const std::string& argument);

// Receives a capture. If it returns an error, reading stops and returns that error.
using CaptureConsumer = std::function<Result<void>(Snapshot)>;

// The bytes of a file.
class CaptureFile {
 public:
  // Reads the bytes of `FILE` or `FILE#N`; "-" is standard input.
  static Result<CaptureFile> open(const std::string& argument);
  // Reads the bytes of a regular file. Fails for any other file, even if it replaces `path` during
  // the call. `path` is never interpreted as `FILE#N`.
  static Result<CaptureFile> open_regular(const std::string& path);
  // Bytes in memory. REQUIRES: they outlive this object.
  CaptureFile(std::string_view bytes, CaptureName name)
      : borrowed_(bytes), name_(std::move(name)) {}

  // Reads the named capture. Without a number, reads the first of several, and a message in the
  // snapshot reports it.
  Result<Snapshot> load(const Vocabulary& vocabulary) const;

  // Reads all windows, if the first capture is a window and none is named; otherwise like load().
  // Also fails if a snapshot is among the windows, or if they take more memory than one file may.
  Result<std::vector<Snapshot>> load_runs(const Vocabulary& vocabulary) const;

  // Reads the definitions of a window without its rows: a snapshot with columns and no rows, with
  // which a report can be planned before load() reads the rows. Returns nothing if the file is not
  // in columns, does not contain exactly one complete window, or a capture is named. Assumes that
  // the file contains the times at which each thread was seen.
  Result<std::optional<Snapshot>> load_outline() const;

  // Reads the named capture, or one capture after the other. Passes each to `consume` before it
  // reads the next. Returns messages about skipped data at the end, such as a truncated capture.
  // Fails if nothing can be read. `workers`: 0 for as many as the host can spare; 1 reads in the
  // calling thread.
  Result<std::vector<std::string>> load_each(const Vocabulary& vocabulary,
                                             const CaptureConsumer& consume,
                                             unsigned workers = 0) const;

 private:
  explicit CaptureFile(CaptureName name) : name_(std::move(name)) {}
  std::string_view bytes() const { return owned_.empty() ? borrowed_ : std::string_view(owned_); }

  std::string owned_;  // empty: the bytes are borrowed
  std::string_view borrowed_;
  CaptureName name_;
};

// Opens and loads `FILE`, `FILE#N` or "-".
Result<Snapshot> load_file(const std::string& argument, const Vocabulary& vocabulary);

}  // namespace ctprof
