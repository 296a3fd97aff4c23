// The interface between the recorder and the kernel: events of CPUs and their rings, the list of
// CPUs, and clocks.
//
// `PerfEvents` reads a running kernel. Tests replay recorded input, so that all values can be
// checked exactly (tests/recorded).
//
// See also: event.hpp for opening an event, records.hpp for the contents of a ring.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/on-cpu/own_process_filter.hpp"
#include "plugins/on-cpu/ring.hpp"
#include "plugins/shared/clock.hpp"

namespace ctprof::on_cpu {

class KernelWalk;

// Parameters of sampling. detect_features() sets uses_cycles, defers_user_chains and counts_lost to
// the features of this kernel.
struct Sampling {
  std::uint32_t frequency_hz = 99;
  std::uint32_t depth = 127;
  std::uint32_t stack_bytes = 32 * 1024;  // 0: no copies, the kernel follows frame pointers
  bool uses_cycles = false;               // otherwise by the clock
  bool defers_user_chains = false;        // user chains are delivered when a thread returns to user
                                          // space
  bool counts_lost = false;               // the event reports the number of lost records (Linux
                                          // 6.0)

  // Runs at each sample, and drops those that the user may not see; null: all are recorded.
  std::shared_ptr<const OwnProcessFilter> filter = {};
  // Walks stacks in the kernel; null: all samples are copies. REQUIRES: no filter.
  std::shared_ptr<KernelWalk> walk = {};

  bool copies_stacks() const { return stack_bytes > 0; }
  std::uint64_t period_ns() const { return kNsPerSecond / frequency_hz; }
};

// Counters of the kernel for one event.
struct Counts {
  std::uint64_t enabled_ns = 0;  // while the CPU was online
  std::uint64_t lost = 0;        // lost records; 0 if the kernel does not count them
};

// An event that samples one CPU into a ring of its own. Opening, starting, stopping and reading are
// separate operations. The ring can be read as long as the event exists, also after it was stopped,
// or after its CPU went offline.
class CpuEvent {
 public:
  virtual ~CpuEvent() = default;

  virtual int start() = 0;
  virtual void stop() = 0;
  // Restarts the event's clock with another period. Returns an errno on failure. REQUIRES: it
  // samples by the clock.
  virtual int set_period(std::uint64_t period_ns) = 0;
  // Returns the ring, which is the same as long as the event exists.
  virtual Ring& ring() = 0;
  // Makes records readable that were written into the ring until now.
  virtual void look_for_records() = 0;
  // Returns no value after its CPU went offline.
  virtual std::optional<Counts> counts() const = 0;
};

class KernelInput : public Clocks {
 public:
  // Returns the online CPUs in order; none if they cannot be read.
  virtual std::vector<int> online_cpus() = 0;
  // Returns how long a CPU has been idle; 0 if that is unknown.
  virtual std::uint64_t idle_ns(int cpu) = 0;
  // Opens an event; returns an errno on failure. If the kernel does not allow a ring of this size,
  // it is halved until it does; `ring_bytes` is a power of two, at least a page.
  virtual int open(const Sampling& sampling, int cpu, std::size_t ring_bytes,
                   std::unique_ptr<CpuEvent>& event) = 0;
};

}  // namespace ctprof::on_cpu
