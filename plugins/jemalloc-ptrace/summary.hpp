// Counts the results of looking for jemalloc: `probe_summary` of the file.
//
// Its fields are those of the reference: tgids_walked (without ctprof), jemalloc_detected
// (processes whose counters were found), probed_ok (threads), failed (processes and threads whose
// failure has a remedy), dominant_failure (the most frequent reason among these),
// privilege_dominant; and one of ctprof: denied (all processes and threads that ctprof may not
// read). Unlike in the reference, privilege_dominant is true only if the errno of the failures
// shows it: a thread that exited, or that a debugger traces, does not lack privileges.

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/source.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/outcome.hpp"

namespace ctprof::jemalloc {

class HeapHelper;

// Tallies of the source. The last one is followed by one for each FindStatus, and then one for each
// step.
enum class Tally : std::uint32_t {
  Walked,
  Detected,
  ProbedOk,
  FailedDenied,  // of all failures: no permission
  Denied,        // of all examined processes and threads, failures or not
  FirstFailure,
};
inline constexpr std::uint32_t kFindStatusCount =
    static_cast<std::uint32_t>(FindStatus::TooMany) + 1;
inline constexpr std::uint32_t kStepCount = static_cast<std::uint32_t>(ProbeStep::ReadMemory) + 1;
inline constexpr std::uint32_t kTallies =
    static_cast<std::uint32_t>(Tally::FirstFailure) + kFindStatusCount + kStepCount;

void count_tally(const sdk::Batch& batch, Tally tally);

// Counts a failure of a process.
void count_failure(const sdk::Batch& batch, FindStatus status, Gap gap);
// Counts a failure of a thread.
void count_failure(const sdk::Batch& batch, ProbeStep step, Gap gap);

// `plugin` is the name for the notes. Ends the capture of the helper.
void put_probe_summary(const sdk::Summary& summary, const char* plugin, HeapHelper& helper);

}  // namespace ctprof::jemalloc
