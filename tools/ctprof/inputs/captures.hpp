// Iterates over the captures that an argument of `export` names, for tables.
//
//   FILE         every capture in it, snapshots and windows
//   FILE#N       only that capture
//   A..B         two snapshots of one boot: the window between them
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
#include "core/file/each.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

class Captures {
 public:
  // REQUIRES: options and vocabulary outlive this.
  static Result<Captures> find(const Options& options, const Vocabulary& vocabulary);

  // Calls visit(capture) for each capture, with differences instead of the two ends of a window.
  // Rows may be missing. Skips unreadable captures, and fails only if all are unreadable.
  Result<void> outlines(const std::function<void(const Snapshot&)>& look);
  // Calls take(capture) for each capture, with differences instead of the two ends of a window, and
  // with pseudonyms if the user requested them. Prints notes about the captures. Fails if nothing
  // can be read. REQUIRES: called once.
  Result<void> take(const TakeCapture& take);

 private:
  Captures(const Options& options, const Vocabulary& vocabulary)
      : options_(&options), vocabulary_(&vocabulary) {}
  bool is_one_file() const { return !span_ && files_.size() == 1; }
  std::size_t sources() const { return span_ ? span_->size() : files_.size(); }
  using Told = std::vector<std::string>;
  void tell(const Told& sentences) const;
  // Returns the notes about an incomplete end of the source.
  Result<Told> load(std::size_t source, const TakeCapture& take) const;
  bool look_at_outline(std::size_t source, const std::function<void(const Snapshot&)>& look) const;
  Result<void> each_source(const std::function<Result<void>(std::size_t)>& visit,
                           bool tells_failures);
  Result<void> hand_over(Snapshot capture, const TakeCapture& take);
  bool is_new(const Snapshot& capture);

  const Options* options_;
  const Vocabulary* vocabulary_;
  std::vector<std::string> files_;
  std::optional<SpanWindows> span_;
  std::vector<Snapshot> kept_;  // captures that are not read again: the only one, or those of
                                // standard input
  Told told_;                   // notes about the end of the source
  bool is_kept_ = false;
  std::optional<KeyedHash::Key> key_;  // of pseudonyms
  std::set<std::string> taken_;        // ids of the captures so far
  bool is_stopped_ = false;            // because take() returned an error
};

}  // namespace ctprof::cli
