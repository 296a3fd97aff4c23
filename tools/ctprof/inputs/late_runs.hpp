// Runs of which a report has seen the outlines, read whole when it asks for them.
//
// So many runs are compared in the memory of a few.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

class LateRuns {
 public:
  // The outlines are made of differences already; `files` are theirs. REQUIRES: all outlive this.
  LateRuns(std::span<const Snapshot> outlines, std::span<const std::string> files,
           const Vocabulary& vocabulary)
      : outlines_(outlines), files_(files), vocabulary_(&vocabulary) {}

  // Reads a run, and makes differences of it. It is an error if the file has other columns than its
  // outline. Threads: any.
  Result<std::shared_ptr<const Snapshot>> take(std::size_t run);
  // Whether that happened: what is right was found by a wrong plan, and has to be read once more,
  // all at once.
  bool any_unlike() const { return any_unlike_; }

 private:
  std::span<const Snapshot> outlines_;
  std::span<const std::string> files_;
  const Vocabulary* vocabulary_;
  std::atomic<bool> any_unlike_{false};
};

}  // namespace ctprof::cli
