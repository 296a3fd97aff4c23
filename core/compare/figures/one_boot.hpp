// Compares two snapshots of one boot thread by thread: finds the threads that both have, and
// divides a group's difference into the parts of staying, added and removed threads.
//
// Threads are identified by tid and start time; a thread without a start time is unknown. A thread
// stays if the group has it on both sides. Otherwise it is added or removed: it started or exited
// between the snapshots, or changed its group. The constructor computes everything; the object does
// not refer to the snapshots afterwards.

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

// The numbers of threads that stay, were added and were removed.
struct Turnover {
  std::uint64_t alive = 0, fresh = 0, gone = 0;
};

// The parts of a sum's difference; their sum is the difference.
struct Origin {
  Difference alive;  // change of threads that are on both sides
  Difference fresh;  // values of added threads
  Difference gone;   // minus the values of removed threads
};

// A snapshot and the group of each of its threads.
struct GroupedThreads {
  const Snapshot* snapshot;
  std::vector<std::uint32_t> groups;
};

class OneBoot {
 public:
  // Creates an object without information.
  OneBoot() = default;
  // For snapshots of different boots, nothing is known. `needs_origin`: the metrics that need an
  // origin.
  OneBoot(const GroupedThreads& baseline, const GroupedThreads& candidate, std::size_t groups,
          const MetricPlan& plan, const std::vector<bool>& wanted);

  // Returns whether both sides are of one boot.
  bool known() const { return known_; }
  // Returns no value if the start time of a thread is missing.
  std::optional<Turnover> in_group(std::uint32_t group) const { return told(groups_, group); }
  // Returns the counts over all threads that are in a group. A thread that changed its group stays.
  std::optional<Turnover> in_all() const { return told({&all_, 1}, 0); }
  // Returns no value if the metric is not a sum over threads, a side has no value, a sum overflows,
  // or a thread with a value cannot be identified.
  std::optional<Origin> origin(std::uint32_t group, std::size_t metric) const;

 private:
  struct Counts {
    Turnover turnover;
    std::uint64_t unknown = 0;
  };
  // The sum of a group on one side.
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

// Returns whether both files have the same known boot id.
bool of_one_boot(const Meta& a, const Meta& b);

}  // namespace ctprof
