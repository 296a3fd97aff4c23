// What each thread did, from the events of the scheduler alone: spans of one state, and the times
// off a CPU that they make up. Figures of a window are what its edges leave of them.
//
// A plain second computation of what the programs of off-cpu keep as sums: it knows no windows, no
// sums and no thresholds.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/off-cpu/told.h"
#include "tests/recorded/kernel/sched_event.h"

namespace ctprof::recorded {

struct StateSpan {
  std::uint32_t state;
  std::uint64_t from, to;
};

struct Timeline {
  std::vector<StateSpan> spans;                               // one behind the other
  std::vector<std::pair<std::uint64_t, std::uint64_t>> away;  // from leaving a CPU to being back
  std::uint64_t born = 0;                                     // 0: before the first event
  std::uint64_t ended = UINT64_MAX;
  // Ids that it had: thread, start.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> names;
  std::uint64_t odd = 0;  // events that do not fit to what was known
};

// What is left of a timeline between two moments.
struct TimelineFigures {
  std::uint64_t wall = 0, until = 0;
  std::array<std::uint64_t, OFF_STATES> ns{};
  std::array<std::uint64_t, OFF_KINDS> counts{};
  std::uint64_t waits = 0, longest = 0, shortest = 0;

  std::uint64_t off_cpu() const { return ns[0] + ns[1] + ns[2] + ns[3]; }
  // That stacks are charged with.
  std::uint64_t charged(bool all_waits) const { return all_waits ? off_cpu() : ns[0] + ns[1]; }
};
// `wall` is 0 where the thread was not there.
TimelineFigures figures_between(const Timeline& line, std::uint64_t opened, std::uint64_t ended);

// The events in the order of time, with those that no program saw. Where a kernel hides threads,
// programs do not run while one of them is on a CPU; so a thread may be given a CPU though no event
// woke it up, or leave one that no event gave it. The scheduler's own account says when that was.
std::vector<sched_event> with_unseen_events(const std::vector<const sched_event*>& events);

// By start time and first thread id.
using Timelines = std::map<std::pair<std::uint64_t, std::uint32_t>, Timeline>;

// `since`: threads that are there at the first event slept from then on.
Timelines timelines_of(const std::vector<const sched_event*>& events, std::uint64_t since);

}  // namespace ctprof::recorded
