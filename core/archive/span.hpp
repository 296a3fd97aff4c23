// What happened in a span of time, out of a directory of recordings.
//
//   auto spanned = read_span("/var/log/ctprof", {.since = ..., .until = ...}, vocabulary);
//
// Every window counts that has a part in the span, whole. Windows back to back are made one, so
// that what is told is told of the whole time; where something is missing between them - a host
// that was down, a recorder that did not run, files that were dropped - there are several, each a
// run of its own, and `told` says what is missing. Only windows are read that are needed, one after
// the other.

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

struct Span {
  std::optional<std::uint64_t> since, until;  // ns since 1970; none: from the first, to the last
};

// The windows of a span as they are, one by one, in the order of time.
class SpanWindows {
 public:
  // The error says what the directory has, where nothing of it lies in the span.
  static Result<SpanWindows> find(const std::string& path, const Span& span);

  std::size_t size() const { return places_.size(); }
  // The error names the file. Throws bad_alloc.
  Result<Snapshot> read(std::size_t number, const Vocabulary& vocabulary) const;
  // What is not kept, and which files could not be read.
  const std::vector<std::string>& told() const { return told_; }
  // Of the directory.
  const std::string& path() const { return directory_.path(); }

 private:
  struct Place {
    HourFile file;
    KeptWindow window;
  };
  explicit SpanWindows(Directory directory) : directory_(std::move(directory)) {}
  static bool lies_in(const Place& place, const Span& span);
  static void sort_by_time(std::vector<Place>& places);
  static std::vector<std::string> ends_of(const Span& span, const std::vector<Place>& all);
  static Error nothing_there(const std::string& path, const std::vector<Place>& all);

  Directory directory_;
  std::vector<Place> places_;
  std::vector<std::string> told_;
};

// Bytes that the threads that exited in a window take while windows are joined.
std::size_t memory_of_exited(const Snapshot& window);

struct Spanned {
  std::vector<Snapshot> runs;               // windows, in the order of time; one at least
  std::vector<std::string> told;            // what is missing, and what could not be read
  std::size_t windows = 0;                  // that were made these
  std::uint64_t from_ns = 0, until_ns = 0;  // of all, by the wall clock
};

// The error says what the directory has, where nothing of it lies in the span; it is one, too,
// where the threads that ended in the span take more memory than a file may. Throws bad_alloc.
Result<Spanned> read_span(const std::string& path, const Span& span, const Vocabulary& vocabulary);

}  // namespace ctprof
