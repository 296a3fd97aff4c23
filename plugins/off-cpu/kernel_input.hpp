// What the recorder takes from the kernel, other than through files: records of the BPF programs,
// memory of sleeping threads, and clocks.
//
// `Programs` reads a running kernel. Tests replay input that was recorded from one, so that all
// figures can be checked exactly (tests/recorded).
//
// What is here:   the calls, what each of them guarantees, and the types that they exchange.
// What is not:    the BPF programs and how they are loaded (programs.hpp), what the records mean
//                 (waits.hpp).
//
// Threads: one at a time.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ctprof/records.hpp"
#include "plugins/off-cpu/memory.hpp"
#include "plugins/off-cpu/told.h"
#include "plugins/shared/clock.hpp"

namespace ctprof::off_cpu {

using Bytes = std::span<const std::byte>;
using Take = std::function<void(Bytes)>;
using Counters = std::array<std::uint64_t, OFF_COUNTERS>;

// Where stacks are taken.
enum class Way { ExitTracepoint, EndOfSchedule, FinishedSwitch, None };

struct Setup {
  std::vector<std::uint64_t> pids = {};  // none: all
  bool inherits = false;                 // also what they fork while they are followed
  std::uint64_t cgroup = 0;              // only what is in it or below it, by its id; 0: all
  std::uint64_t period_ns = 1'000'000;
  bool every_stack = false;
  bool all_waits = false;
  std::uint64_t ring_bytes = 16 << 20;
  bool walks = false;         // user stacks in the kernel, where it can
  std::uint32_t depth = 127;  // of a user stack that is walked there
};

// What the kernel did not let us do, once it had taken the programs, and its answer.
struct Refused : std::runtime_error {
  Refused(const std::string& what_for, int answer)
      : std::runtime_error(what_for + ": " + std::strerror(answer)),
        deed(what_for),
        error(answer) {}
  std::string deed;
  int error;
};

class KernelInput : public Clocks {
 public:
  virtual Way way() const = 0;
  // False where somebody asked for a cgroup, and this kernel does not tell programs of them: all
  // threads are followed then.
  virtual bool knows_cgroups() const = 0;
  // Throws Refused, as a look does.
  virtual void attach() = 0;
  virtual void detach() = 0;

  // Looks at all threads; take(bytes) is called for each record that was written.
  virtual void look(off_look_for what, const Take& take) = 0;
  // Has the window of this number begin in a moment, and waits until it has. Returns when it began,
  // on CLOCK_MONOTONIC; no event from then on counts for the one before.
  virtual std::uint64_t open_window(std::uint32_t number) = 0;
  // Calls take(bytes) for each stack since the last time. False if there may be more: it stops
  // sooner or later, however fast they come.
  virtual bool read_stacks(const Take& take) = 0;
  // The same for all else. The stacks of a thread come before its end, if ends are read first.
  virtual void read_others(const Take& take) = 0;
  // See StackTops.
  virtual std::vector<StackTop> read_user_stacks(std::vector<StackTop> wanted, std::size_t size,
                                                 std::chrono::milliseconds patience) = 0;
  // Asks for unwind tables that the programs lack, and takes those that were made.
  virtual void exchange_tables(const sdk::Records&) {}
  // Sentences about processes whose stacks were copied because walks of them cost too much, if
  // there are more such stacks since the last call, and about files whose tables found no space.
  virtual std::string refused_walks() { return {}; }
  virtual void set_period(std::uint64_t period_ns, bool every_stack) = 0;
  // Names the function of the kernel that an address is in; empty where this kernel does not tell.
  // Then the programs leave out their own frames, by number.
  virtual std::string symbol_of(std::uint64_t address) { return static_cast<void>(address), ""; }

  // Since the programs were attached.
  virtual Counters counters() const = 0;
  // What all of them together cost until now, for each switch of a thread, as the kernel measured
  // it while that was switched on; 0: not known.
  virtual void begin_measuring() = 0;
  virtual void end_measuring() = 0;
  virtual double ns_per_switch() const = 0;
};

}  // namespace ctprof::off_cpu
