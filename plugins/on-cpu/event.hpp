// A perf event that samples one CPU into a ring of its own.
//
// Source: perf_event_open(2), `cycles` where the host has counters, else `cpu-clock`. An event is
// opened, started, stopped and read as separate deeds; its ring can be read as long as it lives,
// also after it was stopped, or its CPU is gone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ctprof/files.hpp"
#include "plugins/on-cpu/ring.hpp"

namespace ctprof::on_cpu {

// How to sample. The last three are what this kernel can; settle() finds it out.
struct Sampling {
  std::uint32_t frequency_hz = 99;
  std::uint32_t depth = 127;
  std::uint32_t stack_bytes = 32 * 1024;  // 0: no copies, the kernel follows frame pointers
  bool by_cycles = false;                 // else by the clock
  bool defers = false;                    // user chains come when a thread goes back to user space
  bool counts_lost = false;               // the event says how much was lost (Linux 6.0)

  bool copies() const { return stack_bytes > 0; }
  std::uint64_t period_ns() const { return 1'000'000'000 / frequency_hz; }
};

// What the kernel counted.
struct Counts {
  std::uint64_t enabled_ns = 0;  // while the CPU was online
  std::uint64_t lost = 0;        // records, where it counts them
};

// Of a page of memory.
std::size_t page_size();

// Finds out what this kernel can, by opening events on that CPU. 0, or why it cannot sample at all.
int settle(Sampling& sampling, int cpu);

class Event {
 public:
  // Fails with an errno. A ring that the kernel does not allow is halved until it does;
  // `ring_bytes` is a power of two, at least a page.
  static int open(const Sampling& how, int cpu, std::size_t ring_bytes,
                  std::optional<Event>& event);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  int start();
  void stop();
  Ring& ring() { return *ring_; }
  // Nothing once its CPU is gone.
  std::optional<Counts> counts() const;

 private:
  Event() = default;
  void unmap();

  sdk::Fd fd_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::optional<Ring> ring_;
  bool counts_lost_ = false;
};

}  // namespace ctprof::on_cpu
