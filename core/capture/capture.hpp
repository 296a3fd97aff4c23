// Taking a snapshot: list the threads, let every planned source fill its columns, and say what it
// cost.
//
//   const Registry registry(*load_plugins({.own_directory = own_plugin_directory()}));
//   Result<Snapshot> snapshot = capture(registry, {});
//
// A capture never fails because a thread went away or a file was denied: such cells are gaps, with
// the reason. It fails when the roots cannot be read, or when it is asked for something that is not
// there.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/session.hpp"
#include "core/file/file.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Sources that did not take part, though their plugins are loaded, land in `refused` when it is
// given.
Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refused = nullptr);

// One process.
Result<Snapshot> capture_pid(const Registry& registry, std::uint64_t pid,
                             CaptureOptions options = {});

// Straight to a file.
Result<Written> capture_to(const Registry& registry, const std::string& path,
                           const CaptureOptions& options = {});

// How many cells hold a value, and how many each gap, over all columns that were to be filled.
struct CellTally {
  std::uint64_t values = 0;
  std::array<std::uint64_t, kGapNames.size()> gaps{};
};
CellTally tally(const Snapshot& snapshot);

}  // namespace ctprof
