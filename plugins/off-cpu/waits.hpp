// Converts the records of the programs to records of ctprof: sums of each thread, and stacks whose
// weights add up to them.
//
// The stacks of a thread in a window weigh as much as it waited, to the nanosecond. Time that is
// charged to no stack is handed over as the rest: it was too short for a stack of its own, or its
// stack did not fit. The stack of a thread that still waits when the window ends is recorded then.
//
// Events after the end of a window that are read before it is handed over are stored for the next
// window.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"
#include "plugins/off-cpu/handover.hpp"
#include "plugins/off-cpu/kernel_input.hpp"
#include "plugins/off-cpu/own_frames.hpp"
#include "plugins/off-cpu/sums.hpp"
#include "plugins/shared/unseen.hpp"

namespace ctprof::off_cpu {

class Waits {
 public:
  Waits(const sdk::Host& host, std::unique_ptr<KernelInput> programs, const Setup& setup,
        std::uint64_t budget_ppm);

  // Starts to follow all threads; the first window is open on return.
  void start();
  // Opens a window, and discards the one that is open. REQUIRES: the last window that ended was
  // drained.
  void window_opens();
  // Ends the window, and opens the next one.
  void window_ends();
  void drain(const sdk::Records& records);
  void stop();

 private:
  // Identifies a thread. Two threads that exist at the same time differ in tid; consecutive threads
  // with one tid differ in start.
  struct Key {
    std::uint64_t start;
    std::uint32_t tid;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.start * 0x9E3779B97F4A7C15u ^ key.tid);
    }
  };
  struct Thread {
    off_who who;
    off_thread thread;
    off_place place;
    std::vector<std::uint8_t> stack;
    bool moved_on = false;
  };
  // How well the times of a window add up.
  struct Closure {
    std::uint64_t threads = 0, exact = 0, surprised = 0, surprises = 0;
    std::uint64_t worst_ns = 0;
  };
  void read(const sdk::Records& records);
  void take(const sdk::Records& records, Bytes bytes);
  bool is_later(Bytes bytes) const;
  void put_stack(const sdk::Records& records, const off_stack& stack, std::size_t size);
  void put_walked_stack(const sdk::Records& records, const off_stack& stack, std::size_t size);
  std::size_t own_frames_of(const off_place& place);
  void put_end(const sdk::Records& records, const off_end& end);
  void put_thread(const sdk::Records& records, const Thread& thread, const Span& span);
  void look_at_sleepers();
  void adopt_moved();
  void look_for_hidden();
  void finish_window(const sdk::Records& records);
  void check(const Happened& happened);
  static Key key_of(const off_who& who) { return {who.start_boottime, who.tid}; }
  static Key key_of(const off_origin& origin) { return {origin.start_boottime, origin.tid}; }
  void count_missing(const sdk::Records& records);
  void count_cost(const sdk::Records& records);
  void keep_to_budget();
  void tell(const sdk::Records& records);

  sdk::Host host_;
  std::unique_ptr<KernelInput> programs_;
  Setup setup_;
  std::uint64_t budget_ppm_;
  Handover handover_;
  OwnFrames own_frames_;
  Span open_;                                             // the current window
  Span over_;                                             // the window that is to be handed over
  bool is_over_ = false;                                  // whether over_ must be handed over
  std::vector<Thread> at_end_;                            // threads at the end of over_
  std::unordered_set<Key, Hash> found_;                   // origins of the threads in at_end_
  std::unordered_map<Key, std::uint64_t, Hash> weights_;  // weights of handed-over stacks, by
                                                          // origin
  std::vector<std::vector<std::byte>> ends_;              // exits that were read and not handed
                                                          // over yet
  std::vector<std::vector<std::byte>> later_;             // records of the next window that were
                                                          // already read
  std::vector<UnseenThread> hidden_;                      // hidden threads at the end of over_
  Closure closure_;
  Counters told_{};
  std::uint64_t costed_switches_ = 0;
  std::uint64_t measuring_since_ns_ = 0;  // 0: not measuring
  std::uint64_t budgeted_ns_ = 0, budgeted_switches_ = 0;
  std::string budget_remark_, way_remark_, cgroup_remark_, closure_remark_, hidden_remark_,
      walk_remark_;
  bool has_news_ = false;
  bool is_stopped_ = false;
};

}  // namespace ctprof::off_cpu
