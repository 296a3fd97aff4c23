// Computes what each thread did only from scheduler events: spans of one state, and the resulting
// times off-CPU. The values of a window are the parts inside its edges.
//
// This is a simple second computation of the sums that the programs of off-cpu keep. It has no
// windows, sums or thresholds.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/off-cpu/shared_records.h"
#include "tests/recorded/kernel/sched_event.h"

namespace ctprof::recorded {

struct StateSpan {
  std::uint32_t state;
  std::uint64_t from, to;
};

struct Timeline {
  std::vector<StateSpan> spans;  // one after the other
  // From leaving a CPU to the next run.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> off_cpu_spans;
  std::uint64_t started_ns = 0;  // 0: before the first event
  std::uint64_t ended_ns = UINT64_MAX;
  // All ids of the thread: thread id, start time.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ids;
  std::uint64_t unseen_events = 0;  // events that do not match the known state
};

// The values of a timeline between two times.
struct TimelineFigures {
  std::uint64_t wall = 0, until = 0;
  std::array<std::uint64_t, OFF_STATES> ns{};
  std::array<std::uint64_t, OFF_WAIT_STATES> counts{};
  std::uint64_t waits = 0, longest = 0, shortest = 0;

  std::uint64_t off_cpu() const { return ns[0] + ns[1] + ns[2] + ns[3]; }
  // The part that stacks represent.
  std::uint64_t charged(bool all_waits) const { return all_waits ? off_cpu() : ns[0] + ns[1]; }
};
// `wall` is 0 if the thread did not exist.
TimelineFigures figures_between(const Timeline& line, std::uint64_t opened, std::uint64_t ended);

// Returns the events ordered by time, completed by those that no program could see. If a kernel
// hides threads from BPF, programs do not run while such a thread is on a CPU. A thread can then
// get a CPU without a wakeup event, or leave one without having got it. The scheduler's own
// accounting determines the missing times.
std::vector<sched_event> with_unseen_events(const std::vector<const sched_event*>& events);

// The timelines by the start time and the first id of their thread.
using Timelines = std::map<std::pair<std::uint64_t, std::uint32_t>, Timeline>;

// `since`: the time from which threads that exist before the first event have slept.
Timelines timelines_of(const std::vector<const sched_event*>& events, std::uint64_t since);

}  // namespace ctprof::recorded
