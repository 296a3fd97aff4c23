// What a snapshot says about its own capture and host: how, when and where it was made, which of
// ctprof's metrics another plugin filled, and what the sources report once the capture is over:
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

// The time now, on both clocks.
Moment now();

// What of the host a window is to tell if it changes meanwhile.
struct HostState {
  Moment now;
  std::uint64_t monotonic_ns = 0;
  // CPUs that are online, each with the inode of a directory that the kernel makes anew whenever it
  // brings that CPU up.
  std::map<unsigned, std::uint64_t> cpus;
};
HostState host_state(const Roots& roots);
// For the user, a sentence each: the clock was set, the host slept, CPUs came or went.
std::vector<std::string> what_happened(const HostState& before, const HostState& after);

// Everything that is known before the capture begins: all but its end, its cost and its sources.
Meta begin_meta(const Roots& roots, bool with_hostname);

// Metrics of ctprof's own that a third party's plugin fills because of its higher rank; one entry
// for each such plugin. A metric counts only if a source of ctprof's own could have filled it here;
// identity metrics always count.
std::vector<Takeover> takeovers(const Probed& probed, const Plan& plan);

// Adds a note for each reason why columns stay empty that could be filled with a permission or by
// turning a switch.
void note_within_reach(Snapshot& snapshot);

// Finishes every source, records its cost, and calls its `summarise`. Sources of one plugin with
// the same summary key get one call, with their tallies added up.
void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot);

}  // namespace ctprof
