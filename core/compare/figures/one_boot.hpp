// Compares two snapshots of the same boot thread by thread: finds the threads that both have, and
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
  std::uint64_t staying = 0, added = 0, removed = 0;
};

// The parts of a sum's difference; their sum is the difference.
struct DifferenceOrigin {
  Difference staying;  // change of threads that are on both sides
  Difference added;    // values of added threads
  Difference removed;  // minus the values of removed threads
};

// A snapshot and the group of each of its threads.
struct GroupedThreads {
  const Snapshot* snapshot;
  std::vector<std::uint32_t> groups;
};

class ThreadTurnover {
 public:
  // Creates an object without information.
  ThreadTurnover() = default;
  // If the snapshots are of different boots, the object contains no information. `needs_origin`:
  // the metrics for which origin() is called.
  ThreadTurnover(const GroupedThreads& baseline, const GroupedThreads& candidate,
                 std::size_t groups, const MetricPlan& plan, const std::vector<bool>& needs_origin);

  // Returns whether both sides are of the same boot.
  bool is_known() const { return known_; }
  // Returns no value if the start time of a thread is missing.
  std::optional<Turnover> turnover_of_group(std::uint32_t group) const {
    return turnover_at(groups_, group);
  }
  // Returns the counts over all threads that are in a group. A thread that changed its group stays.
  std::optional<Turnover> turnover_of_all() const { return turnover_at({&all_, 1}, 0); }
  // Returns no value if the metric is not a sum over threads, a side has no value, a sum overflows,
  // or a thread with a value cannot be identified.
  std::optional<DifferenceOrigin> origin(std::uint32_t group, std::size_t metric) const;

 private:
  struct Counts {
    Turnover turnover;
    std::uint64_t unknown = 0;
  };
  // The sum of a group on one side.
  struct SumParts {
    std::uint64_t staying = 0, changing = 0, total = 0;
    bool has_value = false, has_unknown = false;
    bool is_known() const { return has_value && !has_unknown; }
  };
  struct GroupSums {
    std::vector<SumParts> before, after;  // by group
  };
  std::optional<Turnover> turnover_at(std::span<const Counts> counts, std::uint32_t at) const;

  bool known_ = false;
  std::vector<Counts> groups_;
  Counts all_;
  std::vector<GroupSums> sums_;  // by metric

  friend class TurnoverBuilder;
};

// Returns whether both files have the same known boot id.
bool have_same_boot(const Meta& a, const Meta& b);

}  // namespace ctprof
