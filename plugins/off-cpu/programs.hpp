// Loads and attaches the BPF programs, and accesses the data that they share with user space.
//
//   auto programs = Programs::load({.pids = {}, .period_ns = 1'000'000}, failed);
//   programs->attach();
//   programs->visit_threads(OFF_FIRST_PASS, {});
//   const std::uint64_t opened = programs->open_window(1);
//
// The programs exist as long as the object or the process, however that ends: nothing is pinned.
// Stacks are recorded at the first available hook: sched_exit_tp (Linux 6.17), the end of
// schedule(), or the kernel function that finishes a switch. If there is none, resume_hook()
// returns None, and everything except stacks is still counted. At the first two hooks, user stacks
// are walked by unwind tables if the kernel supports that, and copied otherwise.
//
// Contents: loading, attaching, passes over all threads, edges of windows, the cost of the
// programs.
// See also: waits.hpp for the meaning of the records.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/off-cpu/kernel_input.hpp"
#include "plugins/shared/walk_accounts.hpp"
#include "plugins/shared/walk_requests.hpp"

struct off_cpu_bpf;
struct off_cpu_symbol_bpf;
struct bpf_link;
struct ring_buffer;

namespace ctprof::off_cpu {

class Programs final : public KernelInput {
 public:
  // Returns null, and sets `error` to an errno, if the kernel refuses the programs.
  static std::unique_ptr<Programs> load(const Setup& setup, int& error);
  ~Programs() override;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  ResumeHook resume_hook() const override { return hook_; }
  bool can_read_cgroups() const override { return knows_cgroups_; }
  void attach() override;
  void detach() override;
  void visit_threads(off_pass_purpose purpose, const RecordCallback& callback) override;
  std::uint64_t open_window(std::uint32_t number) override;
  bool read_stacks(const RecordCallback& callback) override;
  void read_other_records(const RecordCallback& callback) override;
  std::vector<StackTop> read_user_stacks(std::vector<StackTop> requests, std::size_t size,
                                         std::chrono::milliseconds timeout) override;
  void exchange_tables(const sdk::Records& records) override;
  std::string describe_refused_walks() override;
  void set_period(std::uint64_t period_ns, bool every_stack) override;
  std::string find_symbol(std::uint64_t address) override;
  Counters counters() const override;
  void begin_measuring() override;
  void end_measuring() override;
  double ns_per_switch() const override { return ns_per_switch_; }

 private:
  Programs() = default;
  bool open(const Setup& setup, ResumeHook hook);
  bool open_walk();
  void choose_programs();
  int try_hook(const Setup& setup, ResumeHook hook, bool walks);
  bpf_link* attach_resume();
  ring_buffer* create_ring(int map);
  bool consume_ring(ring_buffer& ring, const RecordCallback& callback);
  std::uint64_t run_time_ns() const;

  struct Deleter {
    void operator()(off_cpu_bpf* skeleton) const;
    void operator()(off_cpu_symbol_bpf* skeleton) const;
    void operator()(bpf_link* link) const;
    void operator()(ring_buffer* ring) const;
  };
  std::unique_ptr<off_cpu_bpf, Deleter> skeleton_;
  std::unique_ptr<off_cpu_symbol_bpf, Deleter> symbols_;  // null: this kernel names no addresses
  std::unique_ptr<bpf_link, Deleter> resume_link_;        // attached already, at the hook where
                                                          // threads resume
  std::vector<std::unique_ptr<bpf_link, Deleter>> links_;
  std::unique_ptr<bpf_link, Deleter> pass_link_;
  std::unique_ptr<ring_buffer, Deleter> stacks_, records_;
  StackTopReader tops_;
  const RecordCallback* callback_ = nullptr;  // during a read
  std::size_t read_count_ = 0;
  ResumeHook hook_ = ResumeHook::None;
  bool walks_ = false;
  std::unique_ptr<WalkTables> tables_;
  std::unique_ptr<WalkAccounts> accounts_;
  WalkRequests requests_;
  bool knows_cgroups_ = true;
  sdk::Fd measuring_fd_;
  std::uint64_t measured_switches_ = 0, measured_ns_ = 0;
  double ns_per_switch_ = 0;
};

}  // namespace ctprof::off_cpu
