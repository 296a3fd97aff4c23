// Reports plugins with slow calls while the calls last.
//
//   const CallWatch watch([](const SlowCall& slow) { ... });
//   capture(...);
//
// A separate thread checks four times per second which thread is in which function. A call that is
// seen twice is slow. Once the slow calls of one function add up to 2 s, `report` is called, and
// again each time that sum doubles. A capture of less than 250 ms never wakes the thread.
//
// If the thread cannot be created, no calls are watched.

#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/registry/plugin_call.hpp"

namespace ctprof {

struct SlowCall {
  const CallOwner& owner;
  const char* function;
  std::chrono::seconds duration;
};

class CallWatch {
 public:
  // `report` is called on the watching thread; if it throws, watching stops.
  explicit CallWatch(std::function<void(const SlowCall&)> report);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  // Stops watching, and rethrows an exception of `report`.
  void finish();

 private:
  void run();
  void watch();
  void stop();

  std::function<void(const SlowCall&)> report_;
  std::mutex stop_mutex_;
  std::condition_variable stop_condition_;
  bool is_stopping_ = false;
  std::exception_ptr exception_;  // set when the thread has finished
  std::thread thread_;  // separate, because it must run while all workers are inside plugins
};

}  // namespace ctprof
