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
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"
#include "plugins/off-cpu/kernel_input.hpp"
#include "plugins/off-cpu/record_writer.hpp"
#include "plugins/off-cpu/sums.hpp"
#include "plugins/off-cpu/tracing_frames.hpp"
#include "plugins/shared/hidden_threads.hpp"

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
  // with the same tid differ in start.
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
    off_identity identity;
    off_thread thread;
    off_stack_place place;
    std::vector<std::uint8_t> stack;
    bool has_changed_state = false;
    std::optional<off_histogram_pair> histograms = {};  // if they are known
  };
  // How well the times of a window add up.
  struct ConsistencyCheck {
    std::uint64_t threads = 0, exact_threads = 0, inconsistent_threads = 0, unexpected_events = 0;
    std::uint64_t max_error_ns = 0;
  };
  void read(const sdk::Records& records);
  void handle_record(const sdk::Records& records, Bytes bytes);
  bool is_of_next_window(Bytes bytes) const;
  void put_stack(const sdk::Records& records, const off_stack& stack, std::size_t size);
  void put_walked_stack(const sdk::Records& records, const off_stack& stack, std::size_t size);
  std::size_t count_tracing_frames(const off_stack_place& place);
  // `full`: the record with histograms; null: it has none.
  void put_exit(const sdk::Records& records, const off_exit& end, const off_exit_histograms* full);
  void put_thread(const sdk::Records& records, const Thread& thread, const WindowSpan& span);
  void read_sleeping_stacks();
  void follow_moved_processes();
  void find_hidden_threads();
  void finish_window(const sdk::Records& records);
  void check_sums(const WindowSums& window_sums);
  static Key key_of(const off_identity& identity) {
    return {identity.start_boottime, identity.tid};
  }
  static Key key_of(const off_origin& origin) { return {origin.start_boottime, origin.tid}; }
  void count_lost_records(const sdk::Records& records);
  void count_cost(const sdk::Records& records);
  void adjust_period();
  void report_remark(const sdk::Records& records);

  sdk::Host host_;
  std::unique_ptr<KernelInput> programs_;
  Setup setup_;
  std::uint64_t budget_ppm_;
  RecordWriter handover_;
  TracingFrames own_frames_;
  WindowSpan open_window_;                                   // the current window
  WindowSpan finished_window_;                               // the window that is to be handed over
  bool has_finished_window_ = false;                         // whether it must be handed over
  std::vector<Thread> threads_at_end_;                       // threads at the end of that window
  std::unordered_set<Key, Hash> origins_at_end_;             // origins of these threads
  std::unordered_map<Key, std::uint64_t, Hash> weights_;     // weights of handed-over stacks, by
                                                             // origin
  std::vector<std::vector<std::byte>> pending_exits_;        // exits that were read and not handed
                                                             // over yet
  std::vector<std::vector<std::byte>> next_window_records_;  // records of the next window that were
                                                             // already read
  std::vector<HiddenThread> hidden_;                         // hidden threads at that time
  ConsistencyCheck closure_;
  Counters last_counters_{};
  std::uint64_t accounted_switches_ = 0;
  std::uint64_t measuring_since_ns_ = 0;  // 0: not measuring
  std::uint64_t budgeted_ns_ = 0, budgeted_switches_ = 0;
  std::string budget_remark_, unwind_remark_, cgroup_remark_, closure_remark_, hidden_remark_,
      walk_remark_;
  bool has_new_remark_ = false;
  bool is_stopped_ = false;
};

}  // namespace ctprof::off_cpu
