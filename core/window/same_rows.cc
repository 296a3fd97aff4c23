#include "core/window/same_rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"
#include "core/window/make_window.hpp"

namespace ctprof {
namespace {

// A tid, which the kernel may reuse, and the start time, in ticks.
using ThreadKey = std::pair<std::uint64_t, std::uint64_t>;

// A thread that called exec, and whose identity is unknown.
constexpr ThreadKey kUnknownThread{0, 0};

// Index of threads by identity.
class ByName {
 public:
  explicit ByName(const Table& threads) {
    const Column *tids = threads.find_u64(kTid), *starts = threads.find_u64(kStartTime);
    if (!tids || !starts) return;
    for (std::uint32_t row = 0; row < threads.rows; ++row)
      if (starts->has_value(row)) found_.push_back({{tids->u64()[row], starts->u64()[row]}, row});
    std::ranges::sort(found_, {}, &Found::name);
  }

  // Finds a thread; start 0: any start time.
  std::uint32_t find(ThreadKey name) const {
    const auto it = std::ranges::lower_bound(found_, name, {}, &Found::name);
    const bool is_it = it != found_.end() && it->name.first == name.first &&
                       (name.second == 0 || it->name.second == name.second);
    return is_it ? it->row : kNoRow;
  }

 private:
  struct Found {
    ThreadKey name;
    std::uint32_t row;
  };
  std::vector<Found> found_;
};

// Execs by process and time. Indexed, because a process can call exec ten thousand times.
class TakeOvers {
 public:
  explicit TakeOvers(std::span<const TookOver> in_order)
      : sorted_(in_order.begin(), in_order.end()) {
    std::ranges::stable_sort(sorted_, {}, key);
  }

  // Returns the identity of the thread before its last exec that precedes `until`.
  ThreadKey before_exec(ThreadKey name, std::uint64_t until) const {
    const auto after = std::ranges::upper_bound(sorted_, std::pair(name.first, until), {}, key);
    if (after == sorted_.begin() || std::prev(after)->tgid != name.first) return name;
    return {std::prev(after)->tid, std::prev(after)->start_clock_ticks};
  }

 private:
  static std::pair<std::uint64_t, std::uint64_t> key(const TookOver& one) {
    return {one.tgid, one.at_ns};
  }
  std::vector<TookOver> sorted_;
};

std::vector<Earlier> same_threads(const Snapshot& before, const Snapshot& after,
                                  std::span<const TookOver> took_over,
                                  std::span<const std::uint64_t> ended_at) {
  const Table& threads = after.threads();
  std::vector<Earlier> earlier(threads.rows);
  const Column *tids = threads.find_u64(kTid), *starts = threads.find_u64(kStartTime);
  if (!tids || !starts) return earlier;
  const ByName there(before.threads());
  const TakeOvers take_overs(took_over);
  const std::uint64_t ns_per_tick = kNsPerSecond / std::max<std::uint64_t>(after.meta.user_hz, 1);
  const std::size_t living = threads.rows - ended_at.size();
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (!starts->has_value(row)) continue;
    const std::uint64_t until =
        row < living ? std::numeric_limits<std::uint64_t>::max() : ended_at[row - living];
    const ThreadKey name = take_overs.before_exec({tids->u64()[row], starts->u64()[row]}, until);
    if (name == kUnknownThread) continue;
    earlier[row].row = there.find(name);
    // Start times are in whole ticks, rounded down.
    earlier[row].born =
        earlier[row].row == kNoRow &&
        (name.second == 0 || (name.second + 1) * ns_per_tick > before.meta.start.boottime_ns);
  }
  return earlier;
}

// Returns the row of the leader of each process.
std::unordered_map<std::uint64_t, std::uint32_t> leaders(const Table& threads) {
  std::unordered_map<std::uint64_t, std::uint32_t> rows;
  const Column *tids = threads.find_u64(kTid), *tgids = threads.find_u64(kTgid);
  if (!tids || !tgids) return rows;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (tids->u64()[row] == tgids->u64()[row]) rows.emplace(tids->u64()[row], row);
  return rows;
}

// A process matches if its leader does, whichever thread is the leader now.
std::vector<Earlier> same_processes(const Snapshot& before, const Snapshot& after) {
  const Table &then = before.table(Entity::Process), &now = after.table(Entity::Process);
  std::vector<Earlier> earlier(now.rows);
  const Column *ids = now.find_u64(kProcessTgid), *ids_then = then.find_u64(kProcessTgid);
  if (!ids || !ids_then) return earlier;
  const auto led = leaders(after.threads());
  const auto threads = same_threads(before, after, {}, {});
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < then.rows; ++row) row_of.emplace(ids_then->u64()[row], row);
  for (std::uint32_t row = 0; row < now.rows; ++row) {
    const auto leader = led.find(ids->u64()[row]);
    if (leader == led.end()) continue;
    const Earlier& of_leader = threads[leader->second];
    const auto it = row_of.find(ids->u64()[row]);
    if (of_leader.row != kNoRow && it != row_of.end()) earlier[row].row = it->second;
    earlier[row].born = of_leader.born;
  }
  return earlier;
}

// Returns the ids of the cgroups, or null if the snapshot has none. A snapshot with ids has all
// cgroups that existed.
const Column* cgroup_ids(const Table& cgroups) {
  const Column* ids = cgroups.find_u64(kCgroupId);
  const bool any = ids && std::ranges::count(ids->gaps(), ctprof_gap{CTPROF_VALUE}) > 0;
  return any ? ids : nullptr;
}

std::vector<Earlier> same_cgroups(const Snapshot& before, const Snapshot& after) {
  const Table &then = before.table(Entity::Cgroup), &now = after.table(Entity::Cgroup);
  std::vector<Earlier> earlier(now.rows);
  const Column *paths = now.find(kCgroupPath), *paths_then = then.find(kCgroupPath);
  if (!paths || !paths_then) return earlier;
  const Column *ids = cgroup_ids(now), *ids_then = cgroup_ids(then);
  std::unordered_map<std::string_view, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < then.rows; ++row)
    row_of.emplace(before.pools->texts[paths_then->ids()[row]], row);
  for (std::uint32_t row = 0; row < now.rows; ++row) {
    const auto it = row_of.find(after.pools->texts[paths->ids()[row]]);
    const bool there = it != row_of.end();
    const bool has_ids =
        ids && ids_then && ids->has_value(row) && (!there || ids_then->has_value(it->second));
    const bool same = there && (!has_ids || ids->u64()[row] == ids_then->u64()[it->second]);
    if (same) earlier[row].row = it->second;
    earlier[row].born = !same && has_ids;
  }
  return earlier;
}

}  // namespace

bool knows_all_cgroups(const Snapshot& snapshot) {
  return cgroup_ids(snapshot.table(Entity::Cgroup)) != nullptr;
}

std::vector<Earlier> same_rows(const Snapshot& before, const Snapshot& after, Entity entity,
                               std::span<const TookOver> took_over,
                               std::span<const std::uint64_t> ended_at) {
  switch (entity) {
    case Entity::Thread: return same_threads(before, after, took_over, ended_at);
    case Entity::Process: return same_processes(before, after);
    case Entity::Cgroup: return same_cgroups(before, after);
    case Entity::Host: break;
  }
  const std::uint32_t row = before.table(Entity::Host).rows > 0 ? 0 : kNoRow;
  return std::vector<Earlier>(after.table(Entity::Host).rows, {row, false});
}

}  // namespace ctprof
