// What two snapshots of one boot say of each other thread by thread: which threads they have in
// common, told by tid and start time, and how much of a group's difference came from those that
// stayed, are new, and are gone.
//
// A thread stays if the group has it on both sides. Else it turns up, or is gone: started or ended
// in between, or come from another group, or left for one. Of a thread whose start was not read
// nothing is known. It is settled while both snapshots are there, and refers to neither.

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

// How many threads stay, turn up and are gone.
struct Turnover {
  std::uint64_t alive = 0, fresh = 0, gone = 0;
};

// The parts of a sum's difference, which add up to it.
struct Origin {
  Difference alive;  // of threads on both sides, what they did in between
  Difference fresh;  // all that the new ones had come to
  Difference gone;   // less all that the gone ones had come to
};

// A snapshot with the group of each of its threads.
struct GroupedThreads {
  const Snapshot* snapshot;
  std::vector<std::uint32_t> groups;
};

class OneBoot {
 public:
  // Nothing is known of snapshots of different boots. `wanted`: metrics whose origins are.
  OneBoot(const GroupedThreads& baseline, const GroupedThreads& candidate, std::size_t groups,
          const MetricPlan& plan, const std::vector<bool>& wanted);

  // Whether the sides are of one boot.
  bool known() const { return known_; }
  // None where a thread's start was not read.
  std::optional<Turnover> in_group(std::uint32_t group) const { return told(groups_, group); }
  // Of all threads that are in a group; a thread that changed its group stays.
  std::optional<Turnover> in_all() const { return told({&all_, 1}, 0); }
  // None where the metric is no sum over threads, a side has no value or a sum too large to be told
  // exactly, or a value is of a thread that cannot be known again.
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

// Both files say that they are of the same boot.
bool of_one_boot(const Meta& a, const Meta& b);

}  // namespace ctprof
