// Signs: properties of single threads and processes that the sums on the first screen do not show.
//
// A sum cannot distinguish a process that grows from several that start and exit, ten threads that
// share a load from one thread that carries all of the load, or short waits for a lock from a long
// sleep. Each sign is computed by thread or by process, before the rows of a run are freed.
//
//   a job       a process younger than a minute, with a thread that ran or waited for a CPU for
//               80 % of the window. A compiler, for example, loads its input; its memory is no
//               growth
//   odd thread  a thread that ran, or waited for a CPU, three times as long as the median of the
//               threads with its name (without digits) in its process, and longer by 20 % of a CPU.
//               There are at least four such threads, not counting the first thread of the process,
//               and their median ran for 1 % of a CPU
//   lone thread the same, but their median ran for less
//   short waits a thread that waited 200 times per second, for 5 ms each on average
//
// Waits for a lock count regardless of their length, if the stack names a function that locks.
//
// Signs exist only for a side with a single run. A side with several runs has none, and no other
// side is compared with it.
//
// See also: findings.hpp (reported causes), screen.hpp (values of groups).

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/compare/grouping/row_grouper.hpp"
#include "core/compare/report/throttled_waits.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Threads of one process that wait often and briefly, with all of their waits in the window.
struct WaitingThreads {
  double threads = 0;
  double waits = 0;
  double blocked_ns = 0;
  double runnable_ns = 0;  // time waiting for a CPU after the waits

  void add(const WaitingThreads& other) {
    threads += other.threads;
    waits += other.waits;
    blocked_ns += other.blocked_ns;
    runnable_ns += other.runnable_ns;
  }
};

struct ShortWaits {
  WaitingThreads all;
  double explained_ns = 0;  // part of the blocked time for which stacks show the place of the wait
  WaitingThreads of_locks;  // those of the threads that waited for a lock, according to stacks
  double lock_ns = 0;       // part of explained_ns in waits for a lock
  double sync_ns = 0;       // part of the blocked time of these threads in fsync and similar calls

  // Returns whether these waits rather than the others are reported: they are for a lock, of
  // several threads, or longer.
  bool precedes(const ShortWaits& other) const {
    return std::tuple(lock_ns, all.threads > 1, all.blocked_ns) >
           std::tuple(other.lock_ns, other.all.threads > 1, other.all.blocked_ns);
  }
};

struct OddThread {
  std::string name;
  std::uint64_t tid = 0;
  bool is_waiting = false;  // it waited for a CPU; otherwise it ran
  double figure_ns = 0, median_ns = 0;
  std::size_t similar_threads = 0;
};

// A stack in which a thread waited long (figures/long_waits.hpp).
struct LongWait {
  std::string metric{};     // the metric of waiting stacks
  std::uint32_t stack = 0;  // number in the common stacks
  double weight = 0;
};

// A process that existed at both ends of the window.
struct LastingProcess {
  std::uint64_t tgid = 0, start = 0;
  double bytes = 0, growth = 0;  // resident memory at the end, and its change
  bool is_job = false;
};

struct GroupSigns {
  double zombies = 0;        // at the end of the window
  double stuck_threads = 0;  // threads in state D at both ends that did not run in between
  double major_faults = 0;   // in the window
  double minor_faults = 0;
  double involuntary_switches = 0;
  double own_cpu_ns = 0;         // CPU time of the recording process
  double processes_started = 0;  // in the window
  double processes_exited = 0;
  ShortWaits short_waits;               // of the process whose waits precede the others
  std::optional<OddThread> odd_thread;  // the thread with the largest value
  std::optional<OddThread> lone_thread;
  double shared_load_ns = 0;  // the largest median of the run times of similar threads
  std::vector<LastingProcess> large_processes;  // processes with at least 16 MiB
  std::vector<LongWait> long_waits;
  std::vector<ThrottledWait> throttled_waits;  // for a CPU, in cgroups that a quota throttled

  // Returns the growth of lasting processes that are not jobs.
  double lasting_growth() const;
  // Returns the growth since an earlier window, over the processes that both windows have. Returns
  // no value if there is no such process.
  std::optional<double> growth_since(const GroupSigns& earlier) const;
  GroupSigns& operator+=(const GroupSigns& other);
};

// Returns the signs of each group. `rows` has the groups of the snapshot's rows; `stacks` has the
// number of each stack node in the common stacks, and may be empty. REQUIRES: the snapshot is a
// window of differences.
std::vector<GroupSigns> find_group_signs(const Snapshot& snapshot, const RowGroups& rows,
                                         std::span<const std::uint32_t> stacks = {});

}  // namespace ctprof
