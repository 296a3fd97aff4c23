// Runs work in a few threads, like share_work() (core/base/workers.hpp), while the calling thread
// watches them.
//
// A worker that a process in /proc blocks (blocking_processes.hpp) cannot be interrupted. It is
// abandoned: it gets a signal whose handler never returns, so that it runs no more code when the
// kernel wakes it. All objects that it used stay allocated, because the kernel may still write to
// them. It is not joined at exit, where the kernel kills it. Another thread replaces it and repeats
// its piece of work.
//
// If anything else blocks a worker, the calling thread waits for the worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ctprof {

struct WatchOptions {
  // The open directory /proc; -1 for a recorded tree, which cannot block: then this is
  // share_work().
  int proc;
  // Called by the calling thread after it abandoned a worker because of `process`. Must replace the
  // objects that the worker used, without destroying them.
  std::function<void(unsigned worker, std::uint64_t process)> replace_worker;
  // Every second worker takes pieces from the end, so that two kinds of work, one at each end, that
  // wait for different resources run concurrently.
  bool from_both_ends = false;
};

// Like share_work(), with one more thread. If no thread can be created, the calling thread does all
// work, unwatched.
std::vector<std::uint64_t> share_watched_work(
    unsigned workers, std::size_t pieces, const std::function<void(unsigned, std::size_t)>& work,
    const WatchOptions& watch);

}  // namespace ctprof
