// Work beside the caller's own: in a thread, or where none can be had (RLIMIT_NPROC, a seccomp
// filter) in the caller's when it asks for the outcome. What the work throws reaches the caller,
// out of get().

#pragma once

#include <future>
#include <system_error>

namespace ctprof {

// The future's destructor waits for the work, so what it refers to must outlive the future.
template <class Work>
auto in_background(Work work) -> std::future<decltype(work())> {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace ctprof
