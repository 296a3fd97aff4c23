// Taking a snapshot: list the threads, let every planned source fill its columns, and say what it cost.
//
//   Registry registry(*load_plugins({.own_directory = own_plugin_directory()}));
//   Result<Snapshot> snapshot = capture(registry, {});
//
// A capture never fails because a thread went away or a file was denied: such cells are gaps, with the reason. It fails when the roots cannot
// be read, or when it is asked for something that is not there.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/file/file.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct CaptureOptions {
  std::string rootfs;                               // /proc, /sys and cgroup are looked for under it; empty: the host's own
  std::vector<std::uint64_t> pids;                  // only these processes; none: all
  std::optional<std::vector<std::string>> metrics;  // only these; none: all
  unsigned jobs = 0;                                // workers; 0: as many as the host can spare
  bool hostname = true;                             // whether the snapshot bears the host's name
};

// Sources that did not take part, though their plugins are loaded, land in `refused` when it is given.
Result<Snapshot> capture(Registry& registry, const CaptureOptions& options, std::vector<Refusal>* refused = nullptr);

// One process.
Result<Snapshot> capture_pid(Registry& registry, std::uint64_t pid, CaptureOptions options = {});

// Straight to a file.
Result<Written> capture_to(Registry& registry, const std::string& path, const CaptureOptions& options = {});

// How many cells hold a value, and how many each gap, over all columns that were to be filled.
struct CellTally {
  std::uint64_t values = 0;
  std::array<std::uint64_t, kGapNames.size()> gaps{};
};
CellTally tally(const Snapshot& snapshot);

}  // namespace ctprof
