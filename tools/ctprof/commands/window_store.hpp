// Stores the windows of `record --every`: in a directory that is limited by age and size
// (core/archive), or in one file with all windows, which requires --duration.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/commands/record_options.hpp"

namespace ctprof::cli {

class WindowStore {
 public:
  virtual ~WindowStore() = default;
  // Adds a window, and notes windows that were deleted or are missing. An error ends the recording.
  virtual Result<void> add(const Snapshot& window) = 0;
  // Called after the last window. Without it, a file does not get its final name.
  virtual Result<void> finish() = 0;
  // Called instead of finish() after an error: keeps the windows that were added, if any.
  virtual Result<void> commit_after_error() = 0;
  // Size in bytes of the last added window.
  virtual std::uint64_t last_bytes() const = 0;
  // Describes the data that a second interrupt loses (signals.hpp).
  virtual std::string interrupt_loss() const = 0;
  // "; keeps 7 d, at most 2.0 GiB", or empty.
  virtual std::string limits() const = 0;
};

// Whether -o names a single file: its name has the suffix of recordings, and --duration is set.
bool records_one_file(const RecordCommandOptions& options);

// Checks that the options fit the kind of store that -o names.
Result<void> check_store(const RecordCommandOptions& options);

// Opens the store with the user's own privileges. REQUIRES: `options` outlives the store.
Result<std::unique_ptr<WindowStore>> open_store(const RecordCommandOptions& options);

}  // namespace ctprof::cli
