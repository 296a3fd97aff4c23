// Threads that help a capture, and that may be blocked by a file system that does not respond.
//
// A thread and its owner share an object with the members `mutex`, `changed` (a condition
// variable), `is_running` and `must_stop`. The thread ends after `must_stop` is set, and then
// clears `is_running`.

#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace ctprof {

// Starts a thread that calls `run` with the shared object. Clears `is_running` if RLIMIT_NPROC
// permits no more threads. REQUIRES: shared->is_running.
template <class Shared, class Run>
std::thread start_helper(const std::shared_ptr<Shared>& shared, Run run) {
  try {
    return std::thread([shared, run] { run(*shared); });
  } catch (const std::system_error&) {
    shared->is_running = false;
    return {};
  }
}

// Stops the thread, if it was started. A thread that does not end in this time is detached; it
// keeps the shared object.
template <class Shared>
void stop_helper(std::thread& thread, Shared& shared, std::chrono::milliseconds timeout) {
  if (!thread.joinable()) return;
  std::unique_lock lock(shared.mutex);
  shared.must_stop = true;
  shared.changed.notify_all();
  const bool has_stopped =
      shared.changed.wait_for(lock, timeout, [&] { return !shared.is_running; });
  lock.unlock();
  has_stopped ? thread.join() : thread.detach();
}

}  // namespace ctprof
