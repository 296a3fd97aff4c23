// Collects a snapshot's metadata about its capture and host: how, when and where it was taken,
// which metrics of ctprof another plugin filled, and what the sources report after the capture:
// their objects in the file, and messages for the user.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/registry/plan.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Returns the current time of CLOCK_REALTIME and CLOCK_BOOTTIME.
Timestamp now();

// The state of the host whose changes during a window are reported.
struct HostState {
  Timestamp now;
  std::uint64_t monotonic_ns = 0;
  // Online CPUs, each with the inode of a directory that the kernel recreates whenever it brings
  // that CPU up.
  std::map<unsigned, std::uint64_t> cpus;
};
HostState read_host_state(const Roots& roots);
// Returns one message for the user per event: the clock was set, the host was suspended, CPUs went
// offline or came online.
std::vector<std::string> describe_changes(const HostState& before, const HostState& after);

// Returns all metadata that is known before the capture: all except its end, cost and sources.
Meta begin_meta(const Roots& roots, bool with_hostname);

// Returns the metrics of ctprof that a third-party plugin fills because of its higher rank, one
// entry per plugin. A metric counts only if a source of ctprof could have filled it on this host;
// identity metrics always count.
std::vector<Takeover> list_takeovers(const ProbedHost& probed, const Plan& plan);

// Adds a note for each reason why columns are empty that a permission or a kernel setting would
// fill.
void note_obtainable_columns(Snapshot& snapshot);

// Finishes every source, records its cost, and calls its `summarise`. Sources of the same plugin
// with the same summary key get one call, with their tallies added up.
void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot);

}  // namespace ctprof
