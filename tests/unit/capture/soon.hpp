// Waiting for what another thread or process does.

#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace ctprof {

// Whether it becomes so within five seconds, be it for a moment.
inline bool soon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 500; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_so();
}

}  // namespace ctprof
