// What the recorder takes from the kernel: events of CPUs and their rings, which CPUs there are,
// and clocks.
//
// `PerfEvents` reads a running kernel. Tests replay input that was recorded from one, so that all
// figures can be checked exactly (tests/recorded).
//
// What is here:   the calls, what each of them guarantees, and the types that they exchange.
// What is not:    how an event is opened (event.hpp), what a ring contains (records.hpp).
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/on-cpu/kernel_walk.hpp"
#include "plugins/on-cpu/own_filter.hpp"
#include "plugins/on-cpu/ring.hpp"
#include "plugins/shared/clock.hpp"

namespace ctprof::on_cpu {

// How to sample. The last three are what this kernel can; settle() finds it out.
struct Sampling {
  std::uint32_t frequency_hz = 99;
  std::uint32_t depth = 127;
  std::uint32_t stack_bytes = 32 * 1024;  // 0: no copies, the kernel follows frame pointers
  bool by_cycles = false;                 // else by the clock
  bool defers = false;                    // user chains come when a thread goes back to user space
  bool counts_lost = false;               // the event says how much was lost (Linux 6.0)

  // Runs at each sample, and drops some; null: all are recorded.
  std::shared_ptr<const OwnFilter> filter = {};
  // Walks stacks in the kernel; null: all samples are copies. REQUIRES: not with a filter.
  std::shared_ptr<KernelWalk> walk = {};

  bool copies() const { return stack_bytes > 0; }
  std::uint64_t period_ns() const { return 1'000'000'000 / frequency_hz; }
};

// What the kernel counted.
struct Counts {
  std::uint64_t enabled_ns = 0;  // while the CPU was online
  std::uint64_t lost = 0;        // records, where it counts them
};

// An event that samples one CPU into a ring of its own. It is opened, started, stopped and read as
// separate deeds; its ring can be read as long as it lives, also after it was stopped, or its CPU
// is gone.
class CpuEvent {
 public:
  virtual ~CpuEvent() = default;

  virtual int start() = 0;
  virtual void stop() = 0;
  // Restarts the event's clock with another period. Fails with an errno. REQUIRES: it samples by
  // the clock.
  virtual int set_period(std::uint64_t period_ns) = 0;
  // The same ring as long as the event lives.
  virtual Ring& ring() = 0;
  // Takes notice of what was written into the ring until now.
  virtual void look() = 0;
  // Nothing once its CPU is gone.
  virtual std::optional<Counts> counts() const = 0;
};

class KernelInput : public Clocks {
 public:
  // In order; none where they cannot be read.
  virtual std::vector<int> online_cpus() = 0;
  // For how long a CPU has been idle; 0 where that is not known.
  virtual std::uint64_t idle_ns(int cpu) = 0;
  // Fails with an errno. A ring that the kernel does not allow is halved until it does;
  // `ring_bytes` is a power of two, at least a page.
  virtual int open(const Sampling& how, int cpu, std::size_t ring_bytes,
                   std::unique_ptr<CpuEvent>& event) = 0;
};

}  // namespace ctprof::on_cpu
