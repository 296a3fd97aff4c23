#include "core/compare/grouping.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// What an axis reads of a thread.
struct Axis {
  GroupBy by;
  std::string_view column;
};
// To add an axis, add a line here and its word in spec.cc.
constexpr Axis kAxes[] = {{GroupBy::Pcomm, kPcomm}, {GroupBy::CommExact, kComm}};

const Axis& axis_of(GroupBy by) {
  return *std::find_if(std::begin(kAxes), std::end(kAxes), [&](const Axis& axis) { return axis.by == by; });
}

// Provisional indices of groups, in order of appearance.
using Known = std::unordered_map<std::string_view, std::uint32_t>;

std::uint32_t index_of(Known& known, std::string_view key) {
  return known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
}

// The provisional group of each thread. A thread whose name could not be read falls under the empty name.
std::vector<std::uint32_t> group_threads(const Snapshot& snapshot, const Axis& axis, Known& known) {
  std::vector<std::uint32_t> groups(snapshot.threads().rows);
  const Column* column = snapshot.threads().find(axis.column);
  if (!column || column->def().storage != Storage::String) {
    if (!groups.empty()) std::fill(groups.begin(), groups.end(), index_of(known, {}));
    return groups;
  }
  // Names repeat, so each is looked up once.
  std::vector<std::uint32_t> group_of_id(snapshot.pools->texts.size(), kNoGroup);
  const auto ids = column->ids();
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (!column->has_value(row)) {
      groups[row] = index_of(known, {});
      continue;
    }
    std::uint32_t& group = group_of_id[ids[row]];
    if (group == kNoGroup) group = index_of(known, snapshot.pools->texts[ids[row]]);
    groups[row] = group;
  }
  return groups;
}

// Groups in the order of their names, and the new index of each provisional one.
std::vector<std::uint32_t> sort_names(const Known& known, std::vector<std::string>& names) {
  std::vector<std::pair<std::string_view, std::uint32_t>> sorted(known.begin(), known.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> new_index(sorted.size());
  for (const auto& [name, provisional] : sorted) {
    new_index[provisional] = static_cast<std::uint32_t>(names.size());
    names.emplace_back(name);
  }
  return new_index;
}

std::span<const std::uint64_t> numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  return column && column->def().storage == Storage::U64 ? column->u64() : std::span<const std::uint64_t>{};
}

// The row of a process's leader, or its first thread where the leader is not listed; threads stand in (tgid, tid) order.
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids, std::span<const std::uint64_t> tids) {
  const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process);
  if (first == last) return tgids.size();
  const auto begin = tids.begin() + (first - tgids.begin()), end = tids.begin() + (last - tgids.begin());
  const auto leader = std::lower_bound(begin, end, process);
  const bool listed = leader != end && *leader == process;
  return static_cast<std::size_t>((listed ? leader : begin) - tids.begin());
}

std::vector<std::uint32_t> group_processes(const Snapshot& snapshot, const std::vector<std::uint32_t>& of_thread) {
  const Table& processes = snapshot.table(Entity::Process);
  const auto tgids = numbers(snapshot.threads(), kTgid), tids = numbers(snapshot.threads(), kTid);
  const auto process_tgids = numbers(processes, kProcessTgid);
  std::vector<std::uint32_t> groups(processes.rows, kNoGroup);
  if (tgids.size() != tids.size()) return groups;
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    const std::size_t leader = leader_row(process_tgids[row], tgids, tids);
    if (leader < of_thread.size()) groups[row] = of_thread[leader];
  }
  return groups;
}

std::vector<std::uint32_t> count_rows(const std::vector<std::uint32_t>& of_row, std::size_t groups) {
  std::vector<std::uint32_t> rows(groups);
  for (const std::uint32_t group : of_row)
    if (group != kNoGroup) ++rows[group];
  return rows;
}

// What follows from the groups of the threads.
SideGroups finish(const Snapshot& snapshot, std::vector<std::uint32_t> of_thread, const Grouping& grouping) {
  SideGroups side;
  const auto rows_of = [&](Entity entity) -> auto& { return side.of_row[static_cast<std::size_t>(entity)]; };
  rows_of(Entity::Thread) = std::move(of_thread);
  rows_of(Entity::Process) = group_processes(snapshot, rows_of(Entity::Thread));
  rows_of(Entity::Cgroup).assign(snapshot.table(Entity::Cgroup).rows, kNoGroup);
  rows_of(Entity::Host).assign(snapshot.table(Entity::Host).rows, 0);
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    side.rows_of[entity] = count_rows(side.of_row[entity], grouping.count(static_cast<Entity>(entity)));
  return side;
}

}  // namespace

const std::string& Grouping::name(Entity entity, std::uint32_t group) const {
  static const std::string host = "host";
  return entity == Entity::Host ? host : names[group];
}

Grouping group_rows(std::span<const Snapshot* const> sides, GroupBy by) {
  Known known;
  std::vector<std::vector<std::uint32_t>> of_thread;
  for (const Snapshot* side : sides) of_thread.push_back(group_threads(*side, axis_of(by), known));
  Grouping grouping;
  const auto new_index = sort_names(known, grouping.names);
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (std::uint32_t& group : of_thread[side]) group = new_index[group];
    grouping.sides.push_back(finish(*sides[side], std::move(of_thread[side]), grouping));
  }
  return grouping;
}

}  // namespace ctprof
