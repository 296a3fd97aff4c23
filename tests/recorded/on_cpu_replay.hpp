// Replays a tape of on-cpu through the plugin's sampler.

#pragma once

#include <memory>

#include "plugins/on-cpu/sampler.hpp"
#include "tests/recorded/on_cpu_tape.hpp"
#include "tests/recorded/received.hpp"

namespace ctprof::recorded {

// Throws BadTape if the sampler makes other calls than the recorded ones.
inline void replay_on_cpu(const Tape& tape, ReceivedData& received) {
  using namespace on_cpu_tape;
  Cursor cursor(tape);
  on_cpu::Sampler sampler(std::make_unique<ReplayedInput>(tape, cursor), sampling_of(tape),
                          tape.number("ring_bytes"));
  while (!cursor.is_at_end()) {
    switch (cursor.next().kind) {
      case kStart: sampler.start(); break;
      case kDrain: sampler.drain(received.sink()); break;
      case kStop: sampler.stop(); break;
      case kOutput: break;
      default: throw BadTape("the recorder did not make all recorded calls");
    }
  }
}

}  // namespace ctprof::recorded
