#include "core/compare/figures/one_boot.hpp"

#include <algorithm>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

enum class ThreadState : std::uint8_t { Unknown, Staying, Changes };

// A thread of one side, used to find it on the other.
struct IdentifiedThread {
  std::uint64_t tid, start;
  std::uint32_t row;
};

// Returns the threads in a group whose start time was read, sorted by tid. A tid is unique at any
// one time.
std::vector<IdentifiedThread> threads_by_tid(const GroupedThreads& side) {
  const Column *tids = side.snapshot->threads().find_u64(kTid),
               *starts = side.snapshot->threads().find_u64(kStartTime);
  std::vector<IdentifiedThread> found;
  if (!tids || !starts) return found;
  for (std::uint32_t row = 0; row < side.groups.size(); ++row)
    if (side.groups[row] != kNoGroup && starts->has_value(row))
      found.push_back({tids->u64()[row], starts->u64()[row], row});
  std::sort(found.begin(), found.end(),
            [](const IdentifiedThread& a, const IdentifiedThread& b) { return a.tid < b.tid; });
  return found;
}

// The states of the threads of one side.
struct SideThreads {
  explicit SideThreads(const GroupedThreads& side)
      : threads(threads_by_tid(side)),
        states(side.groups.size(), ThreadState::Unknown),
        is_on_other_side(side.groups.size()) {
    for (const IdentifiedThread& thread : threads) states[thread.row] = ThreadState::Changes;
  }

  std::vector<IdentifiedThread> threads;
  std::vector<ThreadState> states;     // by row
  std::vector<bool> is_on_other_side;  // by row: the other side has the thread, in any group
};

void match_threads(SideThreads& before, SideThreads& after, const GroupedThreads& baseline,
                   const GroupedThreads& candidate) {
  auto b = after.threads.begin();
  for (const IdentifiedThread& a : before.threads) {
    b = std::find_if(b, after.threads.end(),
                     [&](const IdentifiedThread& other) { return other.tid >= a.tid; });
    if (b == after.threads.end()) break;
    if (b->tid != a.tid || b->start != a.start) continue;
    before.is_on_other_side[a.row] = after.is_on_other_side[b->row] = true;
    if (baseline.groups[a.row] == candidate.groups[b->row])
      before.states[a.row] = after.states[b->row] = ThreadState::Staying;
  }
}

}  // namespace

// Fills in a ThreadTurnover.
class TurnoverBuilder {
 public:
  TurnoverBuilder(ThreadTurnover& result, const GroupedThreads& baseline,
                  const GroupedThreads& candidate)
      : result_(&result),
        baseline_(&baseline),
        candidate_(&candidate),
        before_(baseline),
        after_(candidate) {
    match_threads(before_, after_, baseline, candidate);
  }

  void count() {
    // A thread that stays is on both sides; it is counted on the baseline.
    const auto on_baseline = [](ThreadTurnover::Counts& counts, ThreadState state) {
      counts.unknown += state == ThreadState::Unknown;
      counts.turnover.staying += state == ThreadState::Staying;
      counts.turnover.removed += state == ThreadState::Changes;
    };
    const auto on_candidate = [](ThreadTurnover::Counts& counts, ThreadState state) {
      counts.unknown += state == ThreadState::Unknown;
      counts.turnover.added += state == ThreadState::Changes;
    };
    count_side(*baseline_, before_, on_baseline);
    count_side(*candidate_, after_, on_candidate);
  }

  void split(const PlannedMetric& metric, ThreadTurnover::GroupSums& sums) const {
    sums.before = split(metric, *baseline_, before_);
    sums.after = split(metric, *candidate_, after_);
  }

 private:
  template <class Count>
  void count_side(const GroupedThreads& side, const SideThreads& side_threads, Count count) {
    for (std::uint32_t row = 0; row < side.groups.size(); ++row) {
      if (side.groups[row] == kNoGroup) continue;
      count(result_->groups_[side.groups[row]], side_threads.states[row]);
      count(result_->all_,
            side_threads.is_on_other_side[row] ? ThreadState::Staying : side_threads.states[row]);
    }
  }

  // Returns, by group, the sums over threads that stay and over threads that do not.
  std::vector<ThreadTurnover::SumParts> split(const PlannedMetric& metric,
                                              const GroupedThreads& side,
                                              const SideThreads& side_threads) const {
    std::vector<ThreadTurnover::SumParts> sums_by_group(result_->groups_.size());
    const Column* column =
        metric.counts_rows ? nullptr : side.snapshot->threads().find_u64(metric.name);
    if (!column && !metric.counts_rows) return sums_by_group;
    for (std::uint32_t row = 0; row < side.groups.size(); ++row) {
      if (side.groups[row] == kNoGroup || (column && !column->has_value(row))) continue;
      const std::uint64_t value = column ? column->u64()[row] : 1;
      ThreadTurnover::SumParts& split = sums_by_group[side.groups[row]];
      const ThreadState state = side_threads.states[row];
      split.has_unknown = split.has_unknown || state == ThreadState::Unknown ||
                          __builtin_add_overflow(split.total, value, &split.total);
      (state == ThreadState::Staying ? split.staying : split.changing) += value;
      split.has_value = true;
    }
    return sums_by_group;
  }

  ThreadTurnover* result_;
  const GroupedThreads *baseline_, *candidate_;
  SideThreads before_, after_;
};

bool have_same_boot(const Meta& a, const Meta& b) {
  return !a.boot_id.empty() && a.boot_id == b.boot_id;
}

ThreadTurnover::ThreadTurnover(const GroupedThreads& baseline, const GroupedThreads& candidate,
                               std::size_t groups, const MetricPlan& plan,
                               const std::vector<bool>& needs_origin)
    : known_(have_same_boot(baseline.snapshot->meta, candidate.snapshot->meta)) {
  if (!known_) return;
  groups_.resize(groups);
  sums_.resize(plan.metrics.size());
  TurnoverBuilder pair_of_boot(*this, baseline, candidate);
  pair_of_boot.count();
  for (std::size_t metric = 0; metric < sums_.size(); ++metric) {
    const PlannedMetric& planned = plan.metrics[metric];
    if (needs_origin[metric] && planned.entity == Entity::Thread && planned.is_sum)
      pair_of_boot.split(planned, sums_[metric]);
  }
}

std::optional<Turnover> ThreadTurnover::turnover_at(std::span<const Counts> counts,
                                                    std::uint32_t at) const {
  if (!known_ || counts[at].unknown > 0) return {};
  return counts[at].turnover;
}

std::optional<DifferenceOrigin> ThreadTurnover::origin(std::uint32_t group,
                                                       std::size_t metric) const {
  if (!known_ || sums_[metric].before.empty()) return {};
  const SumParts &before = sums_[metric].before[group], &after = sums_[metric].after[group];
  if (!before.is_known() || !after.is_known()) return {};
  const auto between = [](std::uint64_t a, std::uint64_t b) {
    return difference(make_number(a), make_number(b));
  };
  return DifferenceOrigin{between(before.staying, after.staying), between(0, after.changing),
                          between(before.changing, 0)};
}

}  // namespace ctprof
