// Loads runs on demand for a report that so far has only their outlines.
//
// So comparing many runs takes only the memory of a few.

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

class DeferredRuns {
 public:
  // The outlines already hold differences; `files` are their files. REQUIRES: all arguments outlive
  // this object.
  DeferredRuns(std::span<const Snapshot> outlines, std::span<const std::string> files,
               const Vocabulary& vocabulary)
      : outlines_(outlines), files_(files), vocabulary_(&vocabulary) {}

  // Reads a run and computes its differences. Fails if the columns of the file differ from those of
  // its outline. Threads: any.
  Result<std::shared_ptr<const Snapshot>> load_run(std::size_t run);
  // Whether load_run() failed because a file differs from its outline. The report then used a wrong
  // plan, and all runs must be read again, completely and together.
  bool any_changed() const { return any_changed_; }

 private:
  std::span<const Snapshot> outlines_;
  std::span<const std::string> files_;
  const Vocabulary* vocabulary_;
  std::atomic<bool> any_changed_{false};
};

}  // namespace ctprof::cli
