// Records on trace what the events and clocks of the plugin on-cpu return, and replays it.
//
//   Sampler sampler(std::make_unique<RecordingInput>(std::move(events), pids, writer), how, bytes);
//   Sampler sampler(std::make_unique<ReplayedInput>(trace, cursor), how, bytes);
//
// Each call of KernelInput and CpuEvent is one frame; records of a ring follow the call that found
// them. The frames kStart to kStop are calls of the core; a replay makes the same calls.
//
// Samples of all processes are recorded, because the kernel counts them all. For processes outside
// of the workload, names and mappings are omitted. User memory is not recorded: a pattern replaces
// its bytes. Directories of mapped files are omitted.

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plugins/on-cpu/kernel_input.hpp"
#include "plugins/on-cpu/records.hpp"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::on_cpu_trace {

enum Kind : std::uint32_t {
  kStart = kFirstOfPlugin,  // the core starts the recorder
  kDrain,                   // ... drains it
  kStop,                    // ... stops it
  kClock,                   // ClockRead
  kOnline,                  // std::int32_t per CPU
  kIdle,                    // CpuValue: ns
  kOpen,                    // CpuValue: bytes of the ring, or 0 and an errno
  kRingRead,                // CpuValue; records follow
  kRecord,                  // as the kernel wrote it
  kCounts                   // CountsRead
};

struct ClockRead {
  std::uint64_t clock;
  std::uint64_t ns;
};

struct CpuValue {
  std::uint64_t cpu;
  std::uint64_t value;
  std::uint64_t error;
};

struct CountsRead {
  std::uint64_t cpu;
  std::uint64_t exists;
  std::uint64_t enabled_ns;
  std::uint64_t lost;
};

// The version changes with the event attributes that event.cc requests (sample_type, clock and
// others). The size is that of the registers in a sample.
inline constexpr std::array kLayouts{Layout{"perf_records", 2, 32}};
// Samples of version 1 lack the first register of version 2, rdi. A replay adds a zero.
inline constexpr std::array kLayoutsWithoutRdi{Layout{"perf_records", 1, 24}};

// Returns the byte that replaces user memory of a thread.
constexpr std::uint8_t pattern_of(std::uint64_t tid) { return static_cast<std::uint8_t>(tid | 1); }

// Returns the registers of a sample with a copy. Throws BadTrace if the layout of the trace is
// unknown.
std::size_t count_registers(const Trace& trace);

// Returns the sampling options of the trace.
on_cpu::Sampling sampling_of(const Trace& trace);
void add_sampling_facts(const on_cpu::Sampling& sampling, TraceWriter& trace);

// Forwards and records all calls. `trace` must outlive this object.
class RecordingInput final : public on_cpu::KernelInput {
 public:
  RecordingInput(std::unique_ptr<on_cpu::KernelInput> input, std::vector<std::uint64_t> pids,
                 TraceWriter& trace);

  std::uint64_t now_ns(clockid_t clock) const override;
  std::vector<int> online_cpus() override;
  std::uint64_t idle_ns(int cpu) override;
  int open(const on_cpu::Sampling& sampling, int cpu, std::size_t ring_bytes,
           std::unique_ptr<on_cpu::CpuEvent>& event) override;

 private:
  std::unique_ptr<on_cpu::KernelInput> input_;
  std::vector<std::uint64_t> pids_;
  TraceWriter& trace_;
};

// Returns the recorded answers, and checks that the recorder makes the recorded calls in the
// recorded order. Additional readings of a clock return its last value.
class ReplayedInput final : public on_cpu::KernelInput {
 public:
  ReplayedInput(const Trace& trace, Cursor& cursor);

  std::uint64_t now_ns(clockid_t clock) const override;
  std::vector<int> online_cpus() override;
  std::uint64_t idle_ns(int cpu) override;
  int open(const on_cpu::Sampling& sampling, int cpu, std::size_t ring_bytes,
           std::unique_ptr<on_cpu::CpuEvent>& event) override;

 private:
  Cursor& cursor_;
  bool lacks_rdi_;
  mutable std::array<std::uint64_t, 16> clocks_{};
};

}  // namespace ctprof::recorded::on_cpu_trace
