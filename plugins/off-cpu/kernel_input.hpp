// The interface between the recorder and the kernel, apart from files: records of the BPF programs,
// memory of sleeping threads, and clocks.
//
// `Programs` reads a running kernel. Tests replay recorded input, so that all values can be checked
// exactly (tests/recorded).
//
// See also: programs.hpp for the BPF programs and how they are loaded, waits.hpp for the meaning of
// the records.
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
#include "plugins/off-cpu/shared_records.h"
#include "plugins/off-cpu/stack_top_reader.hpp"
#include "plugins/shared/clock.hpp"

namespace ctprof::off_cpu {

using Bytes = std::span<const std::byte>;
using RecordCallback = std::function<void(Bytes)>;
using Counters = std::array<std::uint64_t, OFF_COUNTERS>;

// The hook where stacks of resuming threads are recorded.
enum class ResumeHook { ExitTracepoint, EndOfSchedule, FinishTaskSwitch, None };

struct Setup {
  std::vector<std::uint64_t> pids = {};  // empty: all
  bool inherits = false;                 // whether to follow processes that the followed ones fork
  std::uint64_t cgroup = 0;              // only threads in it or below it, by its id; 0: all
  std::uint64_t period_ns = 1'000'000;
  bool records_every_stack = false;
  bool charges_all_waits = false;
  std::uint64_t ring_bytes = 16 << 20;
  bool walks_user_stacks = false;  // whether to walk user stacks in the kernel, if possible
  std::uint32_t depth = 511;       // of a user stack that is walked
  std::uint32_t histograms = 0;    // requested ones, as bits of off_histogram
};

// The kernel refused an operation after it had loaded the programs. Contains the operation and the
// errno.
struct RefusedOperation : std::runtime_error {
  RefusedOperation(const std::string& operation_name, int error_number)
      : std::runtime_error(operation_name + ": " + std::strerror(error_number)),
        operation(operation_name),
        error(error_number) {}
  std::string operation;
  int error;
};

class KernelInput : public Clocks {
 public:
  virtual ResumeHook resume_hook() const = 0;
  // Returns false if a cgroup was selected, and programs cannot read cgroups on this kernel. Then
  // all threads are followed.
  virtual bool can_read_cgroups() const = 0;
  // Throws RefusedOperation, as visit_threads() does.
  virtual void attach() = 0;
  virtual void detach() = 0;

  // Visits all threads, and calls callback(bytes) for each record that the program writes.
  virtual void visit_threads(off_pass_purpose purpose, const RecordCallback& callback) = 0;
  // Opens the window of this number, slightly in the future, and waits until that time. Returns the
  // time on CLOCK_MONOTONIC. No later event counts for the previous window.
  virtual std::uint64_t open_window(std::uint32_t number) = 0;
  // Calls callback(bytes) for each stack since the previous call. Returns false if there may be
  // more: the number of records per call is limited, so the call returns however fast they arrive.
  virtual bool read_stacks(const RecordCallback& callback) = 0;
  // Does the same for all other records. The stacks of a thread precede its exit record if exit
  // records are read first.
  virtual void read_other_records(const RecordCallback& callback) = 0;
  // See StackTopReader.
  virtual std::vector<StackTop> read_user_stacks(std::vector<StackTop> requests, std::size_t size,
                                                 std::chrono::milliseconds timeout) = 0;
  // Requests unwind tables that the programs lack, and stores those that are available.
  virtual void exchange_tables(const sdk::Records&) {}
  // Returns sentences about processes whose stacks were copied because walking them was too
  // expensive, if there are more such stacks since the last call, and about files whose tables did
  // not fit.
  virtual std::string describe_refused_walks() { return {}; }
  virtual void set_period(std::uint64_t period_ns, bool every_stack) = 0;
  // Returns the name of the kernel function at an address; empty if the kernel does not provide
  // names. In that case the programs skip a fixed number of their own frames.
  virtual std::string find_symbol(std::uint64_t address) { return static_cast<void>(address), ""; }

  // Returns the counters since the programs were attached.
  virtual Counters counters() const = 0;
  // Returns the cost of all programs together for each switch of a thread, as the kernel measured
  // it while that was enabled; 0: unknown.
  virtual void begin_measuring() = 0;
  virtual void end_measuring() = 0;
  virtual double ns_per_switch() const = 0;
};

}  // namespace ctprof::off_cpu
