#include "core/window/match_rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// A tid, which the kernel may reuse, and the start time, in ticks.
using ThreadKey = std::pair<std::uint64_t, std::uint64_t>;

// A thread that called exec, and whose identity is unknown.
constexpr ThreadKey kUnknownThread{0, 0};

// Index of threads by identity.
class ThreadIndex {
 public:
  explicit ThreadIndex(const Table& threads) {
    const Column *tids = threads.find_u64(kTid), *starts = threads.find_u64(kStartTime);
    if (!tids || !starts) return;
    for (std::uint32_t row = 0; row < threads.rows; ++row)
      if (starts->has_value(row)) entries_.push_back({{tids->u64()[row], starts->u64()[row]}, row});
    std::ranges::sort(entries_, {}, &Entry::key);
  }

  // Finds a thread; start 0: any start time.
  std::uint32_t find(ThreadKey name) const {
    const auto it = std::ranges::lower_bound(entries_, name, {}, &Entry::key);
    const bool is_match = it != entries_.end() && it->key.first == name.first &&
                          (name.second == 0 || it->key.second == name.second);
    return is_match ? it->row : kNoRow;
  }

 private:
  struct Entry {
    ThreadKey key;
    std::uint32_t row;
  };
  std::vector<Entry> entries_;
};

// Execs by process and time. Indexed, because a process can call exec ten thousand times.
class ExecIndex {
 public:
  explicit ExecIndex(std::span<const LeaderReplacement> execs)
      : sorted_(execs.begin(), execs.end()) {
    std::ranges::stable_sort(sorted_, {}, key);
  }

  // Returns the identity of the thread before its last exec that precedes `until`.
  ThreadKey key_before_exec(ThreadKey name, std::uint64_t until) const {
    const auto after = std::ranges::upper_bound(sorted_, std::pair(name.first, until), {}, key);
    if (after == sorted_.begin() || std::prev(after)->tgid != name.first) return name;
    return {std::prev(after)->tid, std::prev(after)->start_clock_ticks};
  }

 private:
  static std::pair<std::uint64_t, std::uint64_t> key(const LeaderReplacement& exec) {
    return {exec.tgid, exec.at_ns};
  }
  std::vector<LeaderReplacement> sorted_;
};

std::vector<RowMatch> match_threads(const Snapshot& before, const Snapshot& after,
                                    std::span<const LeaderReplacement> execs,
                                    std::span<const std::uint64_t> exit_ns) {
  const Table& threads = after.threads();
  std::vector<RowMatch> earlier(threads.rows);
  const Column *tids = threads.find_u64(kTid), *starts = threads.find_u64(kStartTime);
  if (!tids || !starts) return earlier;
  const ThreadIndex before_index(before.threads());
  const ExecIndex exec_index(execs);
  const std::uint64_t tick = ns_per_tick(after.meta.user_hz);
  const std::size_t living = threads.rows - exit_ns.size();
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (!starts->has_value(row)) continue;
    const std::uint64_t until =
        row < living ? std::numeric_limits<std::uint64_t>::max() : exit_ns[row - living];
    const ThreadKey name =
        exec_index.key_before_exec({tids->u64()[row], starts->u64()[row]}, until);
    if (name == kUnknownThread) continue;
    earlier[row].row = before_index.find(name);
    // Start times are in whole ticks, rounded down.
    earlier[row].is_new =
        earlier[row].row == kNoRow &&
        (name.second == 0 || (name.second + 1) * tick > before.meta.start.boottime_ns);
  }
  return earlier;
}

// Returns the row of the leader of each process.
std::unordered_map<std::uint64_t, std::uint32_t> leader_rows(const Table& threads) {
  std::unordered_map<std::uint64_t, std::uint32_t> rows;
  const Column *tids = threads.find_u64(kTid), *tgids = threads.find_u64(kTgid);
  if (!tids || !tgids) return rows;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (tids->u64()[row] == tgids->u64()[row]) rows.emplace(tids->u64()[row], row);
  return rows;
}

// A process matches if its leader does, whichever thread is the leader now.
std::vector<RowMatch> match_processes_by_leader(const Snapshot& before, const Snapshot& after) {
  const Table &before_table = before.table(Entity::Process),
              &after_table = after.table(Entity::Process);
  std::vector<RowMatch> earlier(after_table.rows);
  const Column *ids = after_table.find_u64(kProcessTgid),
               *before_ids = before_table.find_u64(kProcessTgid);
  if (!ids || !before_ids) return earlier;
  const auto rows_of_leaders = leader_rows(after.threads());
  const auto threads = match_threads(before, after, {}, {});
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < before_table.rows; ++row)
    row_of.emplace(before_ids->u64()[row], row);
  for (std::uint32_t row = 0; row < after_table.rows; ++row) {
    const auto leader = rows_of_leaders.find(ids->u64()[row]);
    if (leader == rows_of_leaders.end()) continue;
    const RowMatch& leader_match = threads[leader->second];
    const auto it = row_of.find(ids->u64()[row]);
    if (leader_match.row != kNoRow && it != row_of.end()) earlier[row].row = it->second;
    earlier[row].is_new = leader_match.is_new;
  }
  return earlier;
}

// Returns the ids of the cgroups, or null if the snapshot has none. A snapshot with ids has all
// cgroups that existed.
const Column* find_cgroup_ids(const Table& cgroups) {
  const Column* ids = cgroups.find_u64(kCgroupId);
  const bool has_ids = ids && std::ranges::count(ids->gaps(), ctprof_gap{CTPROF_VALUE}) > 0;
  return has_ids ? ids : nullptr;
}

std::vector<RowMatch> match_cgroups(const Snapshot& before, const Snapshot& after) {
  const Table &before_table = before.table(Entity::Cgroup),
              &after_table = after.table(Entity::Cgroup);
  std::vector<RowMatch> earlier(after_table.rows);
  const Column *paths = after_table.find(kCgroupPath),
               *before_paths = before_table.find(kCgroupPath);
  if (!paths || !before_paths) return earlier;
  const Column *ids = find_cgroup_ids(after_table), *before_ids = find_cgroup_ids(before_table);
  std::unordered_map<std::string_view, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < before_table.rows; ++row)
    row_of.emplace(before.pools->texts[before_paths->ids()[row]], row);
  for (std::uint32_t row = 0; row < after_table.rows; ++row) {
    const auto it = row_of.find(after.pools->texts[paths->ids()[row]]);
    const bool has_path = it != row_of.end();
    const bool has_ids = ids && before_ids && ids->has_value(row) &&
                         (!has_path || before_ids->has_value(it->second));
    const bool is_same = has_path && (!has_ids || ids->u64()[row] == before_ids->u64()[it->second]);
    if (is_same) earlier[row].row = it->second;
    earlier[row].is_new = !is_same && has_ids;
  }
  return earlier;
}

// A capture has all rows of an entity of a plugin, so a row without a match is new. If the opening
// has no rows, their source may have failed.
std::vector<RowMatch> match_by_identity(const Snapshot& before, const Snapshot& after,
                                        Entity entity) {
  const Table &before_table = before.table(entity), &after_table = after.table(entity);
  std::vector<RowMatch> earlier(after_table.rows);
  const auto columns = identity_columns(after_table);
  std::vector<const Column*> before_columns;
  for (const Column* column : columns) {
    const Column* found = before_table.find(column->def().name);
    if (!found || !has_same_meaning(found->def(), column->def())) return earlier;
    before_columns.push_back(found);
  }
  std::map<std::vector<std::string>, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < before_table.rows; ++row)
    row_of.emplace(identity_of_row(before_columns, row, *before.pools), row);
  for (std::uint32_t row = 0; row < after_table.rows; ++row) {
    const auto found = row_of.find(identity_of_row(columns, row, *after.pools));
    if (found != row_of.end()) earlier[row].row = found->second;
    earlier[row].is_new = found == row_of.end() && before_table.rows > 0;
  }
  return earlier;
}

}  // namespace

bool has_all_cgroups(const Snapshot& snapshot) {
  return find_cgroup_ids(snapshot.table(Entity::Cgroup)) != nullptr;
}

std::vector<RowMatch> match_rows(const Snapshot& before, const Snapshot& after, Entity entity,
                                 std::span<const LeaderReplacement> execs,
                                 std::span<const std::uint64_t> exit_ns) {
  if (is_of_plugin(entity)) return match_by_identity(before, after, entity);
  switch (entity) {
    case Entity::Thread: return match_threads(before, after, execs, exit_ns);
    case Entity::Process: return match_processes_by_leader(before, after);
    case Entity::Cgroup: return match_cgroups(before, after);
    case Entity::Host: break;
  }
  const std::uint32_t row = before.table(Entity::Host).rows > 0 ? 0 : kNoRow;
  return std::vector<RowMatch>(after.table(Entity::Host).rows, {row, false});
}

}  // namespace ctprof
