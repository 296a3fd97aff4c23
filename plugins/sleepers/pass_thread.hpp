// Makes passes on schedule, in a thread of their own. Therefore they do not depend on the times of
// drains, and a process that blocks the reader of its memory blocks nothing else.
//
// A thread that waits for the memory of a process is abandoned after a second, and sooner after
// earlier cases. Another thread continues its pass, which keeps everything that was copied, and
// no longer reads that process. Threads that were not sampled meanwhile are counted, and so
// are those of passes that were omitted for the budget, or because passes were not handed over in
// time.
//
// The thread has the highest priority (nice -20) if that is permitted (CAP_SYS_NICE). Passes are
// short, and must run in time even if many threads want the CPUs.
//
//   PassThread thread(make_sampler, schedule);
//   thread.begin();
//   while (auto pass = thread.next_pass()) {
//     use(*pass);
//     thread.return_pass(std::move(pass), cost_ns);
//   }
//   thread.end_window();   // passes from here on belong to the next window
//
// Threads: one at a time, in addition to its own.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "core/base/clock.hpp"
#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

struct PassSchedule {
  std::uint64_t period_ns = 0;
  std::uint64_t budget_ppm = 0;  // of all CPUs' time; 0: no limit
  unsigned cpus = 1;
  bool is_single_pass = false;
  // The time after which a thread that reads from a process counts as blocked: the first time, half
  // of it the second time, and so on, down to a sixteenth.
  std::uint64_t read_timeout_ns = kNsPerSecond;
};

// Returns when the next pass is due after one that started at `began_ns` and cost `cost_ns`, so
// that the budget is not exceeded.
std::uint64_t compute_next_due(const PassSchedule& schedule, std::uint64_t began_ns,
                               std::uint64_t cost_ns);

class PassThread {
 public:
  // Limit of passes that are not handed over yet; a drain takes all, about fifty times a second. At
  // the limit, further passes are omitted. No pass is dropped, because later passes would have to
  // write all threads completely again, which costs more than a pass of threads that did not run.
  static constexpr std::size_t kMaxPendingPasses = 16;

  // Creates the sampler. May throw.
  using SamplerFactory = std::function<std::unique_ptr<Sampler>()>;

  PassThread(SamplerFactory make, const PassSchedule& schedule);
  ~PassThread();
  PassThread(const PassThread&) = delete;
  PassThread& operator=(const PassThread&) = delete;

  // Throws the exceptions of the function that creates the sampler.
  void begin();
  // Returns the oldest finished pass that was not returned yet, or null. Waits for the only pass of
  // a single capture. Rethrows exceptions of the sampler.
  std::unique_ptr<Pass> next_pass();
  // `handover_duration_ns`: the cost of using the pass, which counts towards the budget.
  void return_pass(std::unique_ptr<Pass> pass, std::uint64_t handover_duration_ns);
  // Waits a short time for a pass that is being made; longer only if the window has no pass yet,
  // because a process does not answer. Returns the number of the next window, whose passes write
  // every thread completely again.
  std::uint32_t end_window();
  void stop();
  // The passes since the previous call.
  struct PassCounts {
    std::uint64_t completed = 0;  // passes
    std::uint64_t omitted = 0;    // passes that were due and omitted, for the budget or because of
                                  // delays
    std::uint64_t unsampled = 0;  // sleepers that were therefore not sampled
  };
  PassCounts take_counts();
  // Returns the processes that blocked a read, and are avoided.
  const std::set<std::uint32_t>& avoided_processes() const { return avoided_processes_; }

 private:
  struct SharedState;

  std::uint64_t current_timeout_ns() const;
  bool is_read_blocked() const;
  void stop_thread();
  void replace_blocked_thread();

  SamplerFactory make_sampler_;
  PassSchedule schedule_;
  std::set<std::uint32_t> avoided_processes_;
  // Shared with the thread, which may outlive this object.
  std::shared_ptr<SharedState> shared_state_;
  std::thread thread_;
};

}  // namespace ctprof::sleepers
