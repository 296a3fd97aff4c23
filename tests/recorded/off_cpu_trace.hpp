// Records on trace what the programs of the plugin off-cpu report, and replays it.
//
//   Waits waits(host, std::make_unique<RecordingInput>(std::move(programs), writer), ...);
//   Waits waits(host, std::make_unique<ReplayedInput>(trace, cursor), ...);
//
// Each call of KernelInput is one frame, or a frame followed by the reported records and kReturned.
// The frames kStart to kStop are calls of the core; a replay makes the same calls.
//
// User memory is not recorded: a pattern replaces its bytes.

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plugins/off-cpu/kernel_input.hpp"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::off_cpu_trace {

enum Kind : std::uint32_t {
  kStart = kFirstOfPlugin,  // the core starts the recorder
  kDrain,                   // ... drains it
  kWindowEnds,              // ... ends the window
  kStop,                    // ... stops it
  kPass,                    // off_pass_purpose; records follow
  kReadStacks,              // records follow
  kReadOthers,              // records follow
  kReadMemory,              // records follow: MemoryRead, and the bytes
  kRecord,
  kReturned,    // std::uint64_t
  kOpenWindow,  // WindowEdge
  kSetPeriod,   // Period
  kCounters,    // off_cpu::Counters
  kCost         // double: ns per switch
};

struct WindowEdge {
  std::uint64_t number;
  std::uint64_t ns;
};

struct Period {
  std::uint64_t ns;
  std::uint64_t every_stack;
};

struct MemoryRead {
  std::uint64_t tgid;
  std::uint64_t from;
  std::uint64_t number;
};

// The structures of shared_records.h. Raise a version when its structure changes; tests then
// convert older traces.
inline constexpr std::array kLayouts{Layout{"off_thread", 1, sizeof(off_thread)},
                                     Layout{"off_stack", 1, sizeof(off_stack)},
                                     Layout{"off_end", 1, sizeof(off_exit)},
                                     Layout{"off_process", 1, sizeof(off_process)},
                                     Layout{"off_look", 1, sizeof(off_snapshot)},
                                     Layout{"off_check", 1, sizeof(off_check)},
                                     Layout{"off_counters", 1, sizeof(off_cpu::Counters)}};

// Returns the byte that replaces user memory of a thread.
constexpr std::uint8_t pattern_of(std::uint64_t tid) { return static_cast<std::uint8_t>(tid | 1); }

// Forwards and records all calls. `trace` must outlive this object.
class RecordingInput final : public off_cpu::KernelInput {
 public:
  RecordingInput(std::unique_ptr<off_cpu::KernelInput> input, std::vector<std::uint64_t> pids,
                 TraceWriter& trace);

  off_cpu::ResumeHook resume_hook() const override { return input_->resume_hook(); }
  bool can_read_cgroups() const override { return input_->can_read_cgroups(); }
  void attach() override { input_->attach(); }
  void detach() override { input_->detach(); }
  void visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) override;
  std::uint64_t open_window(std::uint32_t number) override;
  bool read_stacks(const off_cpu::RecordCallback& take) override;
  void read_other_records(const off_cpu::RecordCallback& take) override;
  std::vector<off_cpu::StackTop> read_user_stacks(std::vector<off_cpu::StackTop> wanted,
                                                  std::size_t size,
                                                  std::chrono::milliseconds patience) override;
  void set_period(std::uint64_t period_ns, bool every_stack) override;
  off_cpu::Counters counters() const override;
  void begin_measuring() override { input_->begin_measuring(); }
  void end_measuring() override;
  double ns_per_switch() const override { return input_->ns_per_switch(); }

 private:
  std::unique_ptr<off_cpu::KernelInput> input_;
  std::vector<std::uint64_t> pids_;
  TraceWriter& trace_;
};

// Returns the recorded answers, and checks that the recorder makes the recorded calls in the
// recorded order. The clock is that of the trace.
class ReplayedInput final : public off_cpu::KernelInput {
 public:
  ReplayedInput(const Trace& trace, Cursor& cursor);

  std::uint64_t now_ns(clockid_t clock) const override;
  off_cpu::ResumeHook resume_hook() const override { return way_; }
  bool can_read_cgroups() const override { return true; }
  void attach() override {}
  void detach() override {}
  void visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) override;
  std::uint64_t open_window(std::uint32_t number) override;
  bool read_stacks(const off_cpu::RecordCallback& take) override;
  void read_other_records(const off_cpu::RecordCallback& take) override;
  std::vector<off_cpu::StackTop> read_user_stacks(std::vector<off_cpu::StackTop> wanted,
                                                  std::size_t size,
                                                  std::chrono::milliseconds patience) override;
  void set_period(std::uint64_t period_ns, bool every_stack) override;
  off_cpu::Counters counters() const override;
  void begin_measuring() override {}
  void end_measuring() override {}
  double ns_per_switch() const override;

 private:
  void read_state() const;
  const Frame& event(std::uint32_t kind);
  std::uint64_t deliver(const off_cpu::RecordCallback& take);

  Cursor& cursor_;
  std::uint64_t to_boottime_ns_;
  off_cpu::ResumeHook way_;
  mutable off_cpu::Counters counters_{};
  mutable double ns_per_switch_ = 0;
};

}  // namespace ctprof::recorded::off_cpu_trace
