// Two snapshots of one boot, thread by thread: which threads both have, and how much of a group's
// difference is due to threads that stayed, are new, or are gone.
//
// Threads are identified by tid and start time; without a start time nothing is known of a thread.
// A thread stays if the group has it on both sides. Otherwise it is new or gone: it started or
// ended in between, or moved between groups. Everything is found out while both snapshots exist,
// and refers to neither.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// How many threads stay, are new and are gone.
struct Turnover {
  std::uint64_t alive = 0, fresh = 0, gone = 0;
};

// The parts of a sum's difference, which add up to it.
struct Origin {
  Difference alive;  // what threads on both sides did in between
  Difference fresh;  // all that new threads have done
  Difference gone;   // minus all that gone threads had done
};

// A snapshot with the group of each of its threads.
struct GroupedThreads {
  const Snapshot* snapshot;
  std::vector<std::uint32_t> groups;
};

class OneBoot {
 public:
  // Knows nothing.
  OneBoot() = default;
  // Nothing is known of snapshots of different boots. `wanted`: the metrics that need an origin.
  OneBoot(const GroupedThreads& baseline, const GroupedThreads& candidate, std::size_t groups,
          const MetricPlan& plan, const std::vector<bool>& wanted);

  // Whether the sides are of one boot.
  bool known() const { return known_; }
  // None if a thread's start was not read.
  std::optional<Turnover> in_group(std::uint32_t group) const { return told(groups_, group); }
  // The same for all threads that are in a group. A thread that changed its group stays.
  std::optional<Turnover> in_all() const { return told({&all_, 1}, 0); }
  // None if the metric is not a sum over threads, a side has no value, a sum is too large to be
  // exact, or a thread with a value cannot be identified.
  std::optional<Origin> origin(std::uint32_t group, std::size_t metric) const;

 private:
  struct Counts {
    Turnover turnover;
    std::uint64_t unknown = 0;
  };
  // One side of a group's sum.
  struct Split {
    std::uint64_t stays = 0, turns = 0, total = 0;
    bool any = false, unknown = false;
    bool known() const { return any && !unknown; }
  };
  struct Splits {
    std::vector<Split> before, after;  // by group
  };
  std::optional<Turnover> told(std::span<const Counts> counts, std::uint32_t at) const;

  bool known_ = false;
  std::vector<Counts> groups_;
  Counts all_;
  std::vector<Splits> splits_;  // by metric

  friend class BootPair;
};

// Whether both files say that they are of the same boot.
bool of_one_boot(const Meta& a, const Meta& b);

}  // namespace ctprof
