#include "core/compare/figures/one_boot.hpp"

#include <algorithm>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

enum class Life : std::uint8_t { Unknown, Stays, Turns };

// A thread of one side, used to find it on the other.
struct Found {
  std::uint64_t tid, start;
  std::uint32_t row;
};

// Returns the threads in a group whose start time was read, sorted by tid. A tid is unique at any
// one time.
std::vector<Found> threads_by_tid(const GroupedThreads& side) {
  const Column *tids = side.snapshot->threads().find_u64(kTid),
               *starts = side.snapshot->threads().find_u64(kStartTime);
  std::vector<Found> found;
  if (!tids || !starts) return found;
  for (std::uint32_t row = 0; row < side.groups.size(); ++row)
    if (side.groups[row] != kNoGroup && starts->has_value(row))
      found.push_back({tids->u64()[row], starts->u64()[row], row});
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.tid < b.tid; });
  return found;
}

// The states of the threads of one side.
struct SideLives {
  explicit SideLives(const GroupedThreads& side)
      : threads(threads_by_tid(side)),
        lives(side.groups.size(), Life::Unknown),
        met(side.groups.size()) {
    for (const Found& thread : threads) lives[thread.row] = Life::Turns;
  }

  std::vector<Found> threads;
  std::vector<Life> lives;  // by row
  std::vector<bool> met;    // by row: the other side has the thread, in any group
};

void pair(SideLives& before, SideLives& after, const GroupedThreads& baseline,
          const GroupedThreads& candidate) {
  auto b = after.threads.begin();
  for (const Found& a : before.threads) {
    b = std::find_if(b, after.threads.end(),
                     [&](const Found& other) { return other.tid >= a.tid; });
    if (b == after.threads.end()) break;
    if (b->tid != a.tid || b->start != a.start) continue;
    before.met[a.row] = after.met[b->row] = true;
    if (baseline.groups[a.row] == candidate.groups[b->row])
      before.lives[a.row] = after.lives[b->row] = Life::Stays;
  }
}

}  // namespace

// Fills in a ThreadTurnover.
class BootPair {
 public:
  BootPair(OneBoot& told, const GroupedThreads& baseline, const GroupedThreads& candidate)
      : told_(&told),
        baseline_(&baseline),
        candidate_(&candidate),
        before_(baseline),
        after_(candidate) {
    pair(before_, after_, baseline, candidate);
  }

  void count() {
    // A thread that stays is on both sides; it is counted on the baseline.
    const auto on_baseline = [](OneBoot::Counts& counts, Life life) {
      counts.unknown += life == Life::Unknown;
      counts.turnover.alive += life == Life::Stays;
      counts.turnover.gone += life == Life::Turns;
    };
    const auto on_candidate = [](OneBoot::Counts& counts, Life life) {
      counts.unknown += life == Life::Unknown;
      counts.turnover.fresh += life == Life::Turns;
    };
    count_side(*baseline_, before_, on_baseline);
    count_side(*candidate_, after_, on_candidate);
  }

  void split(const PlannedMetric& metric, OneBoot::Splits& splits) const {
    splits.before = split(metric, *baseline_, before_);
    splits.after = split(metric, *candidate_, after_);
  }

 private:
  template <class Count>
  void count_side(const GroupedThreads& side, const SideLives& lives, Count count) {
    for (std::uint32_t row = 0; row < side.groups.size(); ++row) {
      if (side.groups[row] == kNoGroup) continue;
      count(told_->groups_[side.groups[row]], lives.lives[row]);
      count(told_->all_, lives.met[row] ? Life::Stays : lives.lives[row]);
    }
  }

  // Returns, by group, the sums over threads that stay and over threads that do not.
  std::vector<OneBoot::Split> split(const PlannedMetric& metric, const GroupedThreads& side,
                                    const SideLives& lives) const {
    std::vector<OneBoot::Split> splits(told_->groups_.size());
    const Column* column =
        metric.counts_rows ? nullptr : side.snapshot->threads().find_u64(metric.name);
    if (!column && !metric.counts_rows) return splits;
    for (std::uint32_t row = 0; row < side.groups.size(); ++row) {
      if (side.groups[row] == kNoGroup || (column && !column->has_value(row))) continue;
      const std::uint64_t value = column ? column->u64()[row] : 1;
      OneBoot::Split& split = splits[side.groups[row]];
      const Life life = lives.lives[row];
      split.unknown = split.unknown || life == Life::Unknown ||
                      __builtin_add_overflow(split.total, value, &split.total);
      (life == Life::Stays ? split.stays : split.turns) += value;
      split.any = true;
    }
    return splits;
  }

  OneBoot* told_;
  const GroupedThreads *baseline_, *candidate_;
  SideLives before_, after_;
};

bool of_one_boot(const Meta& a, const Meta& b) {
  return !a.boot_id.empty() && a.boot_id == b.boot_id;
}

OneBoot::OneBoot(const GroupedThreads& baseline, const GroupedThreads& candidate,
                 std::size_t groups, const MetricPlan& plan, const std::vector<bool>& wanted)
    : known_(of_one_boot(baseline.snapshot->meta, candidate.snapshot->meta)) {
  if (!known_) return;
  groups_.resize(groups);
  splits_.resize(plan.metrics.size());
  BootPair pair_of_boot(*this, baseline, candidate);
  pair_of_boot.count();
  for (std::size_t metric = 0; metric < splits_.size(); ++metric) {
    const PlannedMetric& planned = plan.metrics[metric];
    if (wanted[metric] && planned.entity == Entity::Thread && planned.is_sum)
      pair_of_boot.split(planned, splits_[metric]);
  }
}

std::optional<Turnover> OneBoot::told(std::span<const Counts> counts, std::uint32_t at) const {
  if (!known_ || counts[at].unknown > 0) return {};
  return counts[at].turnover;
}

std::optional<Origin> OneBoot::origin(std::uint32_t group, std::size_t metric) const {
  if (!known_ || splits_[metric].before.empty()) return {};
  const Split &before = splits_[metric].before[group], &after = splits_[metric].after[group];
  if (!before.known() || !after.known()) return {};
  const auto between = [](std::uint64_t a, std::uint64_t b) {
    return difference(number_of(a), number_of(b));
  };
  return Origin{between(before.stays, after.stays), between(0, after.turns),
                between(before.turns, 0)};
}

}  // namespace ctprof
