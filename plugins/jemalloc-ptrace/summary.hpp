// What looking for jemalloc met with: `probe_summary` of the file.
//
// Fields of the reference: tgids_walked (without our own), jemalloc_detected (processes whose
// counters were found), probed_ok (threads), failed (processes and threads whose failure has a
// remedy), dominant_failure (the most frequent word among these), privilege_dominant; and one of
// ours, denied (all processes and threads that we may not look into). Beyond the reference,
// privilege_dominant is true only where the errno of the failures says so: a thread that ended, or
// that a debugger holds, is no question of privileges.

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/source.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/outcome.hpp"

namespace ctprof::jemalloc {

class HeapHelper;

// Tallies of the source; behind the last one there is one for each attach, and then one for each
// step.
enum class Tally : std::uint32_t {
  Walked,
  Detected,
  ProbedOk,
  FailedDenied,  // of all that failed: for want of permission
  Denied,        // of all that was looked at, failures or not
  FirstFailure,
};
inline constexpr std::uint32_t kAttaches = static_cast<std::uint32_t>(Attach::TooMany) + 1;
inline constexpr std::uint32_t kSteps = static_cast<std::uint32_t>(ProbeStep::ReadMemory) + 1;
inline constexpr std::uint32_t kTallies =
    static_cast<std::uint32_t>(Tally::FirstFailure) + kAttaches + kSteps;

void count(const sdk::Batch& batch, Tally tally);

// Of a process.
void count_failure(const sdk::Batch& batch, Attach attach, Gap gap);
// Of a thread.
void count_failure(const sdk::Batch& batch, ProbeStep step, Gap gap);

// `plugin` is who speaks; the capture is over for its helper.
void put_probe_summary(const sdk::Summary& summary, const char* plugin, HeapHelper& helper);

}  // namespace ctprof::jemalloc
