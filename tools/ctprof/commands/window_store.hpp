// Where the windows of `record --every` go: a directory that is kept within an age and a size
// (core/archive), or one file of all windows, which a recording of a given duration fills.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

class WindowStore {
 public:
  virtual ~WindowStore() = default;
  // Adds a window, and notes which ones had to go or are missing. An error ends the recording.
  virtual Result<void> keep(const Snapshot& window) = 0;
  // After the last window. Without it, a file does not get its name.
  virtual Result<void> finish() = 0;
  // Instead of that after an error: keeps the windows that were added, if there are any.
  virtual Result<void> rescue() = 0;
  // Bytes of the last window that was added.
  virtual std::uint64_t last_bytes() const = 0;
  // What a second interrupt loses (signals.hpp).
  virtual std::string interrupt_loss() const = 0;
  // "; kept are 7 d, at most 2.0 GiB", or empty.
  virtual std::string limits() const = 0;
};

// Whether -o names one file: it ends as names of recordings do, and --duration is given.
bool records_one_file(const Options& options);

// Whether the options fit the kind of store that -o names.
Result<void> check_store(const Options& options);

// With the user's own rights. `options` outlives the store.
Result<std::unique_ptr<WindowStore>> open_store(const Options& options);

}  // namespace ctprof::cli
