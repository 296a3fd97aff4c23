// Names the plugin that keeps a capture waiting, while it does.
//
//   const CallWatch watch([](const SlowCall& slow) { ... });
//   capture(...);
//
// A thread of its own looks four times a second at which thread is in which function. A call that
// is seen twice is slow. Once the slow calls into one function add up to 2 s, `say` is called, and
// again each time that sum doubles. A capture of less than 250 ms never wakes the thread.
//
// If no thread can be created, nothing is watched.

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
  std::chrono::seconds lasted;
};

class CallWatch {
 public:
  // `say` is called on the watching thread; where it throws, nothing is watched any more.
  explicit CallWatch(std::function<void(const SlowCall&)> say);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  // Ends the watch, and throws what `say` threw.
  void end();

 private:
  void run();
  void watch();
  void stop();

  std::function<void(const SlowCall&)> say_;
  std::mutex ending_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::exception_ptr thrown_;  // once the thread has ended
  std::thread thread_;         // its own: it looks while all workers are inside plugins
};

}  // namespace ctprof
