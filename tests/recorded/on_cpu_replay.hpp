// Replays a trace of on-cpu through the plugin's sampler.

#pragma once

#include <memory>

#include "plugins/on-cpu/sampler.hpp"
#include "tests/recorded/on_cpu_trace.hpp"
#include "tests/recorded/received.hpp"

namespace ctprof::recorded {

// Throws BadTrace if the sampler makes other calls than the recorded ones.
inline void replay_on_cpu(const Trace& trace, ReceivedData& received) {
  using namespace on_cpu_trace;
  Cursor cursor(trace);
  on_cpu::Sampler sampler(std::make_unique<ReplayedInput>(trace, cursor), sampling_of(trace),
                          trace.number("ring_bytes"));
  while (!cursor.is_at_end()) {
    switch (cursor.next().kind) {
      case kStart: sampler.start(); break;
      case kDrain: sampler.drain(received.sink()); break;
      case kStop: sampler.stop(); break;
      case kOutput: break;
      default: throw BadTrace("the recorder did not make all recorded calls");
    }
  }
}

}  // namespace ctprof::recorded
