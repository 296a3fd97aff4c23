#include "core/compare/figures/lives.hpp"

#include <algorithm>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// A thread of one side, for looking it up on the other.
struct Found {
  std::uint64_t tid, start;
  std::uint32_t row;
};

const Column* numbers(const Snapshot& snapshot, std::string_view name) {
  const Column* column = snapshot.threads().find(name);
  return column && column->def().storage == Storage::U64 ? column : nullptr;
}

// Threads that count in a group and whose start was read, by tid, of which no two are alike at one
// time.
std::vector<Found> threads_by_tid(const Snapshot& snapshot,
                                  const std::vector<std::uint32_t>& groups) {
  const Column *tids = numbers(snapshot, kTid), *starts = numbers(snapshot, kStartTime);
  std::vector<Found> found;
  if (!tids || !starts) return found;
  for (std::uint32_t row = 0; row < groups.size(); ++row)
    if (groups[row] != kNoGroup && starts->has_value(row))
      found.push_back({tids->u64()[row], starts->u64()[row], row});
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.tid < b.tid; });
  return found;
}

}  // namespace

bool of_one_boot(const Meta& a, const Meta& b) {
  return !a.boot_id.empty() && a.boot_id == b.boot_id;
}

Lives::Lives(std::span<const Snapshot* const> sides, const Grouping& grouping)
    : known_(sides.size() == 2 && of_one_boot(sides[0]->meta, sides[1]->meta)) {
  if (!known_) return;
  groups_.resize(grouping.names.size());
  pair(sides, grouping);
}

void Lives::pair(std::span<const Snapshot* const> sides, const Grouping& grouping) {
  constexpr auto kThreads = static_cast<std::size_t>(Entity::Thread);
  std::array<std::vector<Found>, 2> threads;
  std::array<std::vector<bool>, 2> met;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& groups = grouping.sides[side].of_row[kThreads];
    threads[side] = threads_by_tid(*sides[side], groups);
    lives_[side].resize(groups.size(), Life::Unknown);
    met[side].resize(groups.size());
    for (const Found& thread : threads[side]) lives_[side][thread.row] = Life::Turns;
  }
  auto b = threads[1].begin();
  for (const Found& a : threads[0]) {
    b = std::find_if(b, threads[1].end(), [&](const Found& other) { return other.tid >= a.tid; });
    if (b == threads[1].end()) break;
    if (b->tid != a.tid || b->start != a.start) continue;
    met[0][a.row] = met[1][b->row] = true;
    if (grouping.sides[0].of_row[kThreads][a.row] == grouping.sides[1].of_row[kThreads][b->row])
      lives_[0][a.row] = lives_[1][b->row] = Life::Stays;
  }
  for (std::size_t side = 0; side < 2; ++side)
    for (std::uint32_t row = 0; row < lives_[side].size(); ++row) {
      const std::uint32_t group = grouping.sides[side].of_row[kThreads][row];
      if (group == kNoGroup) continue;
      count(groups_[group], side, lives_[side][row]);
      count(all_, side, met[side][row] ? Life::Stays : lives_[side][row]);
    }
}

// One that stays is on both sides, and counted on the first.
void Lives::count(Counts& counts, std::size_t side, Life life) {
  counts.unknown += life == Life::Unknown;
  counts.turnover.alive += life == Life::Stays && side == 0;
  counts.turnover.gone += life == Life::Turns && side == 0;
  counts.turnover.fresh += life == Life::Turns && side == 1;
}

std::optional<Turnover> Lives::told(std::span<const Counts> counts, std::uint32_t at) const {
  if (!known_ || counts[at].unknown > 0) return {};
  return counts[at].turnover;
}

}  // namespace ctprof
