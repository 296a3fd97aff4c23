// Shares pieces of work between a few threads.
//
// Workers take pieces in order from one counter, so that a single process with ten thousand threads
// keeps all workers busy. Worker 0 is the calling thread; the others are separate threads. If the
// system refuses a thread, there are fewer workers.

#pragma once

#include <locale.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ctprof {

// Returns the number of workers for which the host has idle CPUs: the CPUs that ctprof may use,
// minus the threads that now run or wait for a CPU, at least one. Load averages are ignored.
unsigned count_spare_workers();
// Same, from the text of /proc/loadavg, "0.52 0.58 0.59 3/467 11206": three threads run, one of
// which is the reader. Text that cannot be parsed counts as no running thread.
unsigned count_spare_workers(unsigned processors, std::string_view loadavg);

// Runs `work(worker, piece)` for every piece below `pieces`. Rethrows the first exception of `work`
// after all workers have finished. Returns the thread ids of the workers, the caller's first.
std::vector<std::uint64_t> share_work(unsigned workers, std::size_t pieces,
                                      const std::function<void(unsigned, std::size_t)>& work);

// Runs `work` in the calling thread. Meanwhile another thread runs `task` once per `interval`, at
// least once. Rethrows exceptions of both. Returns the id of the other thread; 0 if it cannot be
// created, in which case `task` does not run.
std::uint64_t run_with_periodic_task(std::chrono::milliseconds interval,
                                     const std::function<void()>& task,
                                     const std::function<void()>& work);

// Sets the C locale for the calling thread during its lifetime, independent of the process's
// locale, so that numbers are always read and written in the same format. Each worker has one.
class CLocale {
 public:
  CLocale();
  ~CLocale();
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  locale_t previous_;
};

}  // namespace ctprof
