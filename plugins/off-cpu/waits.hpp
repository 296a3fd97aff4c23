// From what the programs tell to records: sums of each thread, and stacks that weigh as much.
//
// A thread's stacks of a window weigh as much as it waited, to the nanosecond: what no stack was
// charged for is handed over as the rest, whether it was too short for a stack of its own, or its
// stack found no room. Who still waits when the window ends has its place looked at then.
//
// What happens after the window's end, and was read before it was handed over, is kept for the next
// one.
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

  // Begins to follow all threads; the first window is open when it returns.
  void start();
  // A window begins, and the one that was open is discarded. REQUIRES: the last window that ended
  // was drained.
  void window_opens();
  // The window is over, and the next one begins.
  void window_ends();
  void drain(const sdk::Records& records);
  void stop();

 private:
  // No two threads that live at the same time have the same id; of one after the other, not the
  // same start.
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
  // How well a window's times add up.
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
  Span open_;                                             // the window that goes on
  Span over_;                                             // one that is to be handed over
  bool is_over_ = false;                                  // ... and there is one
  std::vector<Thread> at_end_;                            // as they were found at its end
  std::unordered_set<Key, Hash> found_;                   // origins of those
  std::unordered_map<Key, std::uint64_t, Hash> weights_;  // of stacks handed over, by origin
  std::vector<std::vector<std::byte>> ends_;              // read, and not handed over yet
  std::vector<std::vector<std::byte>> later_;             // read, and of the next window
  std::vector<UnseenThread> hidden_;                      // threads, at its end
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
