// Iterates over the captures that an argument of `export` names, for tables.
//
//   FILE         every capture in it, snapshots and windows
//   FILE#N       only that capture
//   A..B         two snapshots of the same boot: the window between them
//   DIR          those of its files, by name; of `record --interleave`, those of both sides
//   DIR of --every   its windows, or those of --since and --until
//
// Only one capture is in memory at a time, except for standard input. In a directory, unreadable
// files are reported and skipped, and so are duplicate captures.
//
// See also: combinations that show and compare accept (sides.hpp).

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/archive/span.hpp"
#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/file/capture_file.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/input_options.hpp"

namespace ctprof::cli {

struct RedactionOptions;

class CaptureReader {
 public:
  // REQUIRES: options and vocabulary outlive this.
  static Result<CaptureReader> find(const InputOptions& options, const RedactionOptions& redaction,
                                    const Vocabulary& vocabulary);

  // Calls visit(capture) for each capture, with differences instead of the two ends of a window.
  // Rows may be missing. Skips unreadable captures, and fails only if all are unreadable.
  Result<void> visit_outlines(const std::function<void(const Snapshot&)>& visit);
  // Calls consumer(capture) for each capture, with differences instead of the two ends of a window,
  // and with pseudonyms if the user requested them. Prints notes about the captures. Fails if
  // nothing can be read. REQUIRES: called once.
  Result<void> read_all(const CaptureConsumer& consumer);

 private:
  CaptureReader(const InputOptions& options, const Vocabulary& vocabulary)
      : options_(&options), vocabulary_(&vocabulary) {}
  bool is_one_file() const { return !span_ && files_.size() == 1; }
  std::size_t count_sources() const { return span_ ? span_->size() : files_.size(); }
  using Notes = std::vector<std::string>;
  void print_notes(const Notes& sentences) const;
  // Returns the notes about an incomplete end of the source.
  Result<Notes> load(std::size_t source, const CaptureConsumer& take) const;
  bool visit_outline(std::size_t source, const std::function<void(const Snapshot&)>& visit) const;
  Result<void> visit_sources(const std::function<Result<void>(std::size_t)>& visit,
                             bool reports_failures);
  Result<void> deliver(Snapshot capture, const CaptureConsumer& take);
  bool is_first_occurrence(const Snapshot& capture);

  const InputOptions* options_;
  const Vocabulary* vocabulary_;
  std::vector<std::string> files_;
  std::optional<SpanWindows> span_;
  std::vector<Snapshot> stored_;  // captures that are not read again: the only one, or those of
                                  // standard input
  Notes end_notes_;               // notes about the end of the source
  bool is_stored_ = false;
  std::optional<KeyedHash::Key> key_;  // of pseudonyms
  std::set<std::string> seen_ids_;     // ids of the captures so far
  bool is_stopped_ = false;            // because take() returned an error
};

}  // namespace ctprof::cli
