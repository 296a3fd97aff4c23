// Runs the programs of off-cpu in a simulated kernel, as input of the plugin. The scheduler events
// of a trace happen as time passes. Time passes when the test or the plugin waits.
//
//   auto input = std::make_unique<SimulatedInput>(events, settings);
//   SimulatedInput& kernel = *input;
//   Waits waits(host, std::move(input), setup, 0);
//   waits.start();
//   kernel.advance_to(ns);

#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "plugins/off-cpu/kernel_input.hpp"
#include "tests/recorded/kernel/off_cpu_kernel.h"

namespace ctprof::recorded {

class SimulatedInput final : public off_cpu::KernelInput {
 public:
  // A thread that exists before the first event is in the state that its first event ends. All
  // times are CLOCK_MONOTONIC.
  SimulatedInput(std::vector<const sched_event*> events, const kernel_settings& settings);

  // Applies all events until this time.
  void advance_to(std::uint64_t ns);
  // Advances to a time such that a window opened next starts when a thread leaves its CPU, or a few
  // ns later. Does nothing if no such time is left.
  void advance_to_edge_near_switch();
  // The start times of all windows.
  const std::vector<std::uint64_t>& edges() const { return edges_; }

  std::uint64_t now_ns(clockid_t) const override { return now_ns_; }
  off_cpu::ResumeHook resume_hook() const override { return off_cpu::ResumeHook::ExitTracepoint; }
  bool can_read_cgroups() const override { return true; }
  void attach() override {}
  void detach() override {}
  // Takes some time, in which threads continue.
  void visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) override;
  std::uint64_t open_window(std::uint32_t number) override;
  bool read_stacks(const off_cpu::RecordCallback& take) override;
  void read_other_records(const off_cpu::RecordCallback& take) override;
  std::vector<off_cpu::StackTop> read_user_stacks(std::vector<off_cpu::StackTop>, std::size_t,
                                                  std::chrono::milliseconds) override {
    return {};
  }
  void set_period(std::uint64_t, bool) override {}
  std::string find_symbol(std::uint64_t address) override;
  off_cpu::Counters counters() const override;
  void begin_measuring() override {}
  void end_measuring() override {}
  double ns_per_switch() const override { return 0; }

 private:
  void apply_event(const sched_event& event);
  kernel_task* task_of(const sched_task& task) const;
  void add_first_tasks();

  std::vector<const sched_event*> events_;
  std::size_t next_ = 0;
  std::uint64_t now_ns_;
  std::vector<std::uint64_t> edges_;
  std::map<std::uint32_t, kernel_task*> tasks_;  // by tid
  std::minstd_rand random_;
};

}  // namespace ctprof::recorded
