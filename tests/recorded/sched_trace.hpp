// Traces of scheduler events: every switch, wakeup and start of the threads of one process. A trace
// has one kEvent frame per event, in the order in which the kernel wrote them.

#pragma once

#include <array>
#include <vector>

#include "tests/recorded/kernel/sched_event.h"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::sched_trace {

enum Kind : std::uint32_t {
  kEvent = kFirstOfPlugin  // struct sched_event
};

inline constexpr std::array kLayouts{Layout{"sched_event", 1, sizeof(sched_event)}};

inline std::vector<const sched_event*> events_of(const Trace& trace) {
  trace.require_layouts(kLayouts);
  std::vector<const sched_event*> events;
  for (const Frame& frame : trace.frames())
    if (frame.kind == kEvent) events.push_back(&frame.as<sched_event>());
  return events;
}

}  // namespace ctprof::recorded::sched_trace
