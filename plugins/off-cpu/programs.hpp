// The programs' way into the kernel, and what they share with us.
//
//   auto programs = Programs::load({.pids = {}, .period_ns = 1'000'000}, failed);
//   programs->attach();
//   programs->look(OFF_FIRST_LOOK, {});
//   const std::uint64_t opened = programs->open_window(1);
//
// They are there as long as the object is, or the process, however that ends: nothing is pinned.
// Stacks are taken at the first place that this kernel lets us have: sched_exit_tp (Linux 6.17),
// the end of schedule(), or the kernel's function that finishes a switch. Where it is none, `way`
// is None, and all else is counted as well.
//
// What is here:   loading, attaching, looks, edges of windows, what it costs.
// What is not:    what the records mean (waits.hpp).
//
// Threads: one at a time.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/off-cpu/told.h"

struct off_cpu_bpf;
struct bpf_link;
struct ring_buffer;

namespace ctprof::off_cpu {

using Bytes = std::span<const std::byte>;
using Counters = std::array<std::uint64_t, OFF_COUNTERS>;

// Where stacks are taken.
enum class Way { ExitTracepoint, EndOfSchedule, FinishedSwitch, None };

struct Setup {
  std::vector<std::uint64_t> pids = {};  // none: all
  std::uint64_t cgroup = 0;              // only what is in it or below it, by its id; 0: all
  std::uint64_t period_ns = 1'000'000;
  bool every_stack = false;
  bool all_waits = false;
  std::uint64_t ring_bytes = 16 << 20;
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

class Programs {
 public:
  // Null, and an errno, where the kernel does not take them.
  static std::unique_ptr<Programs> load(const Setup& setup, int& error);
  ~Programs();
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  Way way() const { return way_; }
  // False where somebody asked for a cgroup, and this kernel does not tell programs of them: all
  // threads are followed then.
  bool knows_cgroups() const { return knows_cgroups_; }
  // Throws Refused, as a look does.
  void attach();
  void detach();

  // Looks at all threads; take(bytes) is called for each record that was written.
  void look(off_look_for what, const std::function<void(Bytes)>& take);
  // Has the window of this number begin in a moment, and waits until it has. Returns when it began,
  // on CLOCK_MONOTONIC; no event from then on counts for the one before.
  std::uint64_t open_window(std::uint32_t number);
  // Calls take(bytes) for each stack since the last time. False if there may be more: it stops
  // sooner or later, however fast they come.
  bool read_stacks(const std::function<void(Bytes)>& take);
  // The same for all else. The stacks of a thread come before its end, if ends are read first.
  void read_others(const std::function<void(Bytes)>& take);
  void set_period(std::uint64_t period_ns, bool every_stack);

  // Since they were attached.
  Counters counters() const;
  // What all of them together cost until now, for each switch of a thread, as the kernel measured
  // it while that was switched on; 0: not known.
  void begin_measuring();
  void end_measuring();
  double ns_per_switch() const { return ns_per_switch_; }

 private:
  Programs() = default;
  bool open(const Setup& setup, Way way);
  int try_way(const Setup& setup, Way way);
  bpf_link* attach_resume();
  ring_buffer* new_ring(int map);
  bool read_all(ring_buffer& ring, const std::function<void(Bytes)>& take);
  std::uint64_t run_time_ns() const;

  struct Destroy {
    void operator()(off_cpu_bpf* skeleton) const;
    void operator()(bpf_link* link) const;
    void operator()(ring_buffer* ring) const;
  };
  std::unique_ptr<off_cpu_bpf, Destroy> skeleton_;
  std::unique_ptr<bpf_link, Destroy> resume_;  // attached already, where threads resume
  std::vector<std::unique_ptr<bpf_link, Destroy>> links_;
  std::unique_ptr<bpf_link, Destroy> looks_;
  std::unique_ptr<ring_buffer, Destroy> stacks_, told_;
  const std::function<void(Bytes)>* take_ = nullptr;  // while reading
  std::size_t taken_ = 0;
  Way way_ = Way::None;
  bool knows_cgroups_ = true;
  sdk::Fd measuring_;
  std::uint64_t measured_switches_ = 0, measured_ns_ = 0;
  double ns_per_switch_ = 0;
};

}  // namespace ctprof::off_cpu
