// Work cut into pieces, shared by a few threads.
//
// Pieces are taken in order from one counter, so the next free worker takes the next piece: a
// single process with ten thousand threads keeps all workers busy. Worker 0 is the calling thread;
// each worker is a thread of its own. Where the system refuses a thread, there are fewer workers.

#pragma once

#include <locale.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ctprof {

// How many workers the host can spare: processors that we may use, less the threads that run or
// wait for one at this instant, at least one. What ran a second ago has no say.
unsigned spare_workers();
// The same from what stands in /proc/loadavg, "0.52 0.58 0.59 3/467 11206": three run, of which one
// is the reader. Text that says nothing takes no processor away.
unsigned spare_workers(unsigned processors, std::string_view loadavg);

// Runs `work(worker, piece)` for every piece below `pieces`. The first exception that `work` throws
// is thrown again here, when all workers have ended. Returns the thread ids of the workers, the
// caller's first.
std::vector<std::uint64_t> share(unsigned workers, std::size_t pieces,
                                 const std::function<void(unsigned, std::size_t)>& work);

// Does `work` in the calling thread, and meanwhile `again` every so often in another one, once at
// least. Throws what either throws. Returns the other thread's id; 0 where the system refuses one:
// then `again` is not done at all.
std::uint64_t work_beside(std::chrono::milliseconds every, const std::function<void()>& again,
                          const std::function<void()>& work);

// Sets the C locale for the calling thread as long as it lives, whatever the locale of the process,
// so that figures are read and written the same way everywhere. Each worker has one.
class CLocale {
 public:
  CLocale();
  ~CLocale();
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  locale_t before_;
};

}  // namespace ctprof
