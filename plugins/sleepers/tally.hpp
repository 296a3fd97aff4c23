// Combines the results of passes by thread, in the form that the core needs: a stack when a thread
// is first found with it, then from time to time the number of repetitions; and the number of
// samples of the thread.
//
// All weights of a thread reach the core: when it is found elsewhere, when it is not found any
// more, and when the window ends. Therefore both metrics have the same total.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ctprof/records.hpp"
#include "plugins/sleepers/pass.hpp"
#include "plugins/sleepers/sleeper_sample.h"

namespace ctprof::sleepers {

// The offers of the source, in order.
enum : std::uint32_t { kStacksOffer = 0, kSamplesOffer = 1 };

// The form of records.
struct RecordFormat {
  std::uint32_t depth = 0;  // the largest number of frames in the kernel part; 0: all
  // Whether to write the user part as addresses instead of as a copy.
  bool uses_frame_pointers = false;
  // The kernel's limit of frames in the kernel part: a stack of this depth may be truncated.
  std::uint32_t max_kernel_frames = SAMPLE_MAX_FRAMES;
  // Processes whose children are followed: other processes that a pass finds descend from them.
  // Empty: all processes are sampled.
  std::vector<std::uint64_t> parents = {};
};

class Tally {
 public:
  explicit Tally(const RecordFormat& shape);

  void add_pass(const Pass& pass, const sdk::Records& records);
  // Ends the window: hands over the remaining results, and drops them.
  void end_window(const sdk::Records& records);
  // Returns the number of threads in this window whose stacks may not be read.
  std::uint64_t hidden_stack_count() const { return hidden_stack_count_; }

 private:
  struct Thread {
    std::uint32_t tgid = 0, tid = 0;
    std::uint64_t start_ticks = 0;
    std::uint32_t pass = 0;         // the last pass that found it
    std::uint64_t repeats = 0;      // repeats that were not handed over yet
    std::uint64_t samples = 0;      // samples that were not handed over yet
    bool has_hidden_stack = false;  // its stack may not be read, and this was reported
  };
  struct Deallocator {
    void operator()(void* memory) const { std::free(memory); }
  };

  Thread& find_thread(std::uint32_t tgid, std::uint32_t tid, std::uint64_t start_ticks,
                      const sdk::Records& records);
  void put_stack(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records);
  void put_change(const Pass& pass, const Sleeper& sleeper, const sdk::Records& records);
  void put_fork(const Pass& pass, std::uint32_t tgid, const sdk::Records& records);
  void follow_frame_pointers(const Pass& pass, const Sleeper& sleeper);
  void put_hidden_stack(Thread& thread, const sdk::Records& records);
  static void put_repeats(Thread& thread, const sdk::Records& records);
  static void put_counts(Thread& thread, const sdk::Records& records);
  void remove_thread(std::size_t index);

  RecordFormat format_;
  std::uint32_t pass_ = 0;
  std::uint64_t hidden_stack_count_ = 0;
  std::vector<Thread> threads_;
  std::unique_ptr<std::uint32_t[], Deallocator> index_plus_one_;  // index in `threads_` plus one,
                                                                  // by tid; 0: missing
  std::unordered_map<std::uint32_t, CodeVersion> processes_;
  // The parents, and the children that were reported.
  std::unordered_set<std::uint64_t> followed_processes_;
  std::vector<std::uint64_t> user_;
};

}  // namespace ctprof::sleepers
