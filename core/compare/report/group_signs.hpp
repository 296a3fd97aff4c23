// Signs: what the threads of a group show one by one, and the sums on the first screen do not.
//
// A sum cannot distinguish a process that grows from several that start and exit, ten threads that
// share a load from one that has all of it, or short waits for a lock from a long sleep. Each sign
// is found thread by thread, or process by process, before the rows of a run are freed.
//
//   a job       a process that is younger than a minute, and one of whose threads ran or waited for
//               a CPU for 80 % of the window: compilers load their input; that is no growth
//   an odd one  a thread that ran, or waited for a CPU, three times as long as the median of those
//               of its name in its process (digits aside), and for 20 % of a CPU more. There are
//               four at least, the process's first thread not counted, and their median ran for 1 %
//               of a CPU
//   short       a thread that waited 200 times per second, for 5 ms each in the mean
//
// Signs are those of a side's only run; a side of several runs has none, and another side is not
// compared with it.
//
// See also: findings.hpp (what is reported), screen.hpp (figures of groups).

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/grouping/group_book.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Threads of one process that make short waits.
struct ShortWaits {
  double threads = 0;
  double waits = 0;       // of all, in the window
  double blocked_ns = 0;  // the same
  double lock_ns = 0;     // of these in a wait for a lock, as far as there are stacks
};

struct OddThread {
  std::string name;
  std::uint64_t tid = 0;
  bool is_waiting = false;  // it waited for a CPU; otherwise it ran
  double figure_ns = 0, median_ns = 0;
  std::size_t others = 0;
};

// A stack of a thread at which it waited long (figures/long_waits.hpp).
struct LongWait {
  std::string metric{};     // the metric of waiting stacks
  std::uint32_t stack = 0;  // in the book of all runs
  double weight = 0;
};

// A process that was there at both ends of the window.
struct LastingProcess {
  std::uint64_t tgid = 0, start = 0;
  double bytes = 0, growth = 0;  // resident at the end, and what it grew by
  bool is_job = false;
};

struct GroupSigns {
  double zombies = 0;            // at the end
  double stuck = 0;              // threads in state D at both ends that did not run in between
  double major_faults = 0;       // in the window
  double own_ns = 0;             // CPU time of the process that recorded
  double processes_started = 0;  // in the window
  double processes_exited = 0;
  ShortWaits short_waits;             // of the process of which they were most
  std::optional<OddThread> odd;       // the one that differs most
  std::vector<LastingProcess> large;  // 16 MiB at least
  std::vector<LongWait> long_waits;

  // Of processes that are no jobs.
  double lasting_growth() const;
  // What those grew by that an earlier window had too. None: no process of it is the same.
  std::optional<double> growth_since(const GroupSigns& earlier) const;
  GroupSigns& operator+=(const GroupSigns& other);
};

// By group. `rows` has the groups of the snapshot's rows; `stacks` are the numbers of its nodes in
// the book of all runs, and may be empty. REQUIRES: a window, made of differences.
std::vector<GroupSigns> group_signs(const Snapshot& snapshot, const RowGroups& rows,
                                    std::span<const std::uint32_t> stacks = {});

}  // namespace ctprof
