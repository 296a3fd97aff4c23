// Reads a span of time from a directory of recordings.
//
//   auto spanned = read_span("/var/log/ctprof", {.since = ..., .until = ...}, vocabulary);
//
// A window is included completely if any part of it is in the span. Consecutive windows are joined
// into one, so that a report covers the whole time. If windows are missing in between (the host was
// down, the recorder did not run, or files were dropped), the result consists of several runs, and
// messages describe what is missing. Only the required windows are read, one after the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/archive/directory.hpp"
#include "core/archive/index.hpp"
#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A span of wall clock time.
struct Span {
  std::optional<std::uint64_t> since,
      until;  // ns since 1970; none: from the first window, to the last
};

// The windows of a span, not joined, in the order of time.
class SpanWindows {
 public:
  // Finds the windows. If none is in the span, the error contains the time range of the directory.
  static Result<SpanWindows> find(const std::string& path, const Span& span);

  std::size_t size() const { return locations_.size(); }
  // Reads a window. The error names the file. Throws bad_alloc.
  Result<Snapshot> read(std::size_t number, const Vocabulary& vocabulary) const;
  // Messages about times without windows, and about files that could not be read.
  const std::vector<std::string>& messages() const { return messages_; }
  // The path of the directory.
  const std::string& path() const { return directory_.path(); }

 private:
  // A window and the file that contains it.
  struct Location {
    HourFile file;
    ArchivedWindow window;
  };
  explicit SpanWindows(Directory directory) : directory_(std::move(directory)) {}
  static bool is_in_span(const Location& location, const Span& span);
  static void sort_by_time(std::vector<Location>& locations);
  static std::vector<std::string> describe_missing_ends(const Span& span,
                                                        const std::vector<Location>& all);
  static Error no_window_error(const std::string& path, const std::vector<Location>& all);

  Directory directory_;
  std::vector<Location> locations_;
  std::vector<std::string> messages_;
};

// Returns the memory that the exited threads of a window take while windows are joined.
std::size_t memory_of_exited(const Snapshot& window);

// The contents of a span.
struct SpanResult {
  std::vector<Snapshot> runs;               // at least one window, in the order of time
  std::vector<std::string> messages;        // messages about missing and unreadable windows
  std::size_t window_count = 0;             // number of windows that were joined
  std::uint64_t from_ns = 0, until_ns = 0;  // total range, in wall clock time
};

// Reads a span. If no window is in the span, the error contains the time range of the directory.
// Also fails if the threads that exited in the span take more memory than a file may. Throws
// bad_alloc.
Result<SpanResult> read_span(const std::string& path, const Span& span,
                             const Vocabulary& vocabulary);

}  // namespace ctprof
