#include "core/compare/grouping/grouping.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/seeded_hash.hpp"
#include "core/compare/grouping/cgroup_key.hpp"
#include "core/compare/grouping/name_pattern.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr char kBetweenParts = '\0';  // can be in no name of a process, thread or cgroup

// What an axis reads of a thread.
struct Axis {
  GroupBy by;
  std::vector<std::string_view> columns;
};
// To add an axis, add a line here and its word in spec.cc.
const Axis& axis_of(GroupBy by) {
  static const std::vector<Axis> axes{{GroupBy::Pcomm, {kPcomm}},
                                      {GroupBy::Cgroup, {kCgroup}},
                                      {GroupBy::Comm, {kComm}},
                                      {GroupBy::CommExact, {kComm}},
                                      {GroupBy::All, {kCgroup, kPcomm, kComm}}};
  return *std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.by == by; });
}

// Provisional indices, in order of appearance.
using Known = std::unordered_map<std::string, std::uint32_t, SeededHash>;

std::uint32_t index_of(Known& known, std::string key) {
  return known.try_emplace(std::move(key), static_cast<std::uint32_t>(known.size())).first->second;
}

std::vector<std::string> in_order(const Known& known) {
  std::vector<std::string> names(known.size());
  for (const auto& [name, index] : known) names[index] = name;
  return names;
}

// The distinct names in some columns of all sides, and which of them each cell has. A cell without
// a name has the empty one.
class Names {
 public:
  // Rows that are not kept have none, and no say in what names have in common.
  std::vector<std::uint32_t> take(const Snapshot& snapshot, const Table& table,
                                  std::string_view name, const Kept& kept) {
    const Column* column = table.find(name);
    if (column && column->def().storage != Storage::String) column = nullptr;
    std::vector<std::uint32_t> of_row(table.rows, kNoGroup),
        of_id(snapshot.pools->texts.size(), kNoGroup);
    for (std::size_t row = 0; row < of_row.size(); ++row) {
      if (!kept.empty() && !kept[row]) continue;
      const bool has_name = column && column->has_value(row);
      of_row[row] =
          has_name ? of_text(of_id, column->ids()[row], *snapshot.pools) : index_of(known_, {});
    }
    return of_row;
  }

  std::vector<std::string> all() const { return in_order(known_); }

 private:
  // Names repeat, so each is looked up once.
  std::uint32_t of_text(std::vector<std::uint32_t>& of_id, Id id, const Pools& pools) {
    if (of_id[id] == kNoGroup) of_id[id] = index_of(known_, std::string(pools.texts[id]));
    return of_id[id];
  }

  Known known_;
};

std::vector<std::string> keys_of(const std::vector<std::string>& names, std::string_view column,
                                 const Spec& spec) {
  if (column == kCgroup) return cgroup_keys(names, spec.cgroups);
  if (spec.literal_names || spec.group_by == GroupBy::CommExact) return names;
  return name_patterns(names);
}

using Rows = std::vector<std::uint32_t>;

// Keys, and which of them each thread of each side has, and each cgroup where the axis has room for
// it.
struct Keyed {
  std::vector<std::string> keys;
  std::vector<Rows> threads, cgroups;

  template <class Each>
  void for_each_row(Each each) {
    for (auto* tables : {&threads, &cgroups})
      for (Rows& rows : *tables)
        for (std::uint32_t& row : rows)
          if (row != kNoGroup) row = each(row);
  }
};

// Gives equal keys one index.
void unite(Keyed& keyed) {
  Known known;
  Rows index;
  for (const std::string& key : keyed.keys) index.push_back(index_of(known, key));
  keyed.for_each_row([&](std::uint32_t row) { return index[row]; });
  keyed.keys = in_order(known);
}

Keyed key_column(std::span<const Snapshot* const> sides, std::string_view column, const Spec& spec,
                 std::span<const Kept> kept) {
  Keyed keyed;
  Names names;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Snapshot& side = *sides[i];
    keyed.threads.push_back(
        names.take(side, side.threads(), column, kept.empty() ? Kept{} : kept[i]));
    const Table& cgroups = side.table(Entity::Cgroup);
    const bool has_room = spec.group_by == GroupBy::Cgroup;
    keyed.cgroups.push_back(has_room ? names.take(side, cgroups, kCgroupPath, {})
                                     : Rows(cgroups.rows, kNoGroup));
  }
  keyed.keys = keys_of(names.all(), column, spec);
  unite(keyed);
  return keyed;
}

// Both keys at once, for each thread.
void combine(Keyed& keyed, const Keyed& other) {
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> known;
  std::vector<std::string> keys;
  for (std::size_t side = 0; side < keyed.threads.size(); ++side)
    for (std::size_t row = 0; row < keyed.threads[side].size(); ++row) {
      std::uint32_t& own = keyed.threads[side][row];
      const std::uint32_t its = other.threads[side][row];
      if (own == kNoGroup) continue;
      const auto [place, is_new] = known.try_emplace(std::uint64_t{own} << 32 | its,
                                                     static_cast<std::uint32_t>(keys.size()));
      if (is_new) keys.push_back(keyed.keys[own] + kBetweenParts + other.keys[its]);
      own = place->second;
    }
  keyed.keys = std::move(keys);
}

// Which sides have threads under each key.
std::vector<SidedKey> sided_keys(const Keyed& keyed) {
  std::vector<SidedKey> keys;
  for (const std::string& key : keyed.keys) {
    const auto parts = key_parts(key);
    keys.push_back({parts[0], parts[1], parts[2], {}});
  }
  for (std::size_t side = 0; side < keyed.threads.size(); ++side)
    for (const std::uint32_t row : keyed.threads[side])
      if (row != kNoGroup) keys[row].on[side] = true;
  return keys;
}

// Gives the groups of renamed cgroups one name and place. REQUIRES: keys in order, of cgroups,
// processes and threads.
CgroupRenames unite_renamed(Keyed& keyed) {
  CgroupRenames renames = find_cgroup_renames(sided_keys(keyed));
  if (renames.found.empty()) return renames;
  for (std::string& key : keyed.keys) {
    const std::string_view cgroup = key_parts(key).front();
    if (const auto it = renames.name_of.find(cgroup); it != renames.name_of.end())
      key.replace(0, cgroup.size(), it->second);
  }
  unite(keyed);
  return renames;
}

// Puts the keys in the order of their bytes.
void sort_keys(Keyed& keyed) {
  Rows order(keyed.keys.size()), new_index(keyed.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return keyed.keys[a] < keyed.keys[b]; });
  std::vector<std::string> sorted;
  for (const std::uint32_t old : order) {
    new_index[old] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(keyed.keys[old]));
  }
  keyed.for_each_row([&](std::uint32_t row) { return new_index[row]; });
  keyed.keys = std::move(sorted);
}

std::span<const std::uint64_t> numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  return column && column->def().storage == Storage::U64 ? column->u64()
                                                         : std::span<const std::uint64_t>{};
}

// The row of a process's leader, or its first thread where the leader is not listed; threads stand
// in (tgid, tid) order.
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids) {
  const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process);
  if (first == last) return tgids.size();
  const auto begin = tids.begin() + (first - tgids.begin()),
             end = tids.begin() + (last - tgids.begin());
  const auto leader = std::lower_bound(begin, end, process);
  const bool listed = leader != end && *leader == process;
  return static_cast<std::size_t>((listed ? leader : begin) - tids.begin());
}

std::vector<std::uint32_t> group_processes(const Snapshot& snapshot,
                                           const std::vector<std::uint32_t>& of_thread) {
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

std::vector<std::uint32_t> count_rows(const std::vector<std::uint32_t>& of_row,
                                      std::size_t groups) {
  std::vector<std::uint32_t> rows(groups);
  for (const std::uint32_t group : of_row)
    if (group != kNoGroup) ++rows[group];
  return rows;
}

// What follows from the groups of the threads and cgroups.
SideGroups finish(const Snapshot& snapshot, std::vector<std::uint32_t> of_thread,
                  std::vector<std::uint32_t> of_cgroup, const Grouping& grouping) {
  SideGroups side;
  const auto rows_of = [&](Entity entity) -> auto& {
    return side.of_row[static_cast<std::size_t>(entity)];
  };
  rows_of(Entity::Thread) = std::move(of_thread);
  rows_of(Entity::Process) = group_processes(snapshot, rows_of(Entity::Thread));
  rows_of(Entity::Cgroup) = std::move(of_cgroup);
  rows_of(Entity::Host).assign(snapshot.table(Entity::Host).rows, 0);
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    side.rows_of[entity] =
        count_rows(side.of_row[entity], grouping.count(static_cast<Entity>(entity)));
  return side;
}

}  // namespace

const std::string& Grouping::name(Entity entity, std::uint32_t group) const {
  static const std::string host = "host";
  return entity == Entity::Host ? host : names[group];
}

void Grouping::keep(const std::vector<bool>& stays) {
  for (SideGroups& side : sides)
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup}) {
      auto& of_row = side.of_row[static_cast<std::size_t>(entity)];
      for (std::uint32_t& group : of_row)
        if (group != kNoGroup && !stays[group]) group = kNoGroup;
      side.rows_of[static_cast<std::size_t>(entity)] = count_rows(of_row, names.size());
    }
}

std::vector<std::string_view> key_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = name.find(kBetweenParts);
    parts.push_back(name.substr(0, end));
    if (end == name.npos) return parts;
    name.remove_prefix(end + 1);
  }
}

std::string_view renamed_to(const Grouping& grouping, std::string_view name) {
  const auto it = grouping.renamed.find(key_parts(name).front());
  return it == grouping.renamed.end() ? std::string_view{} : it->second;
}

std::string readable_key(std::string_view name) {
  std::string text;
  for (const std::string_view part : key_parts(name)) {
    if (part.data() != name.data()) text += " > ";
    text += part;
  }
  return text;
}

Grouping group_rows(std::span<const Snapshot* const> sides, const Spec& spec,
                    std::span<const Kept> kept) {
  const Axis& axis = axis_of(spec.group_by);
  Keyed keyed = key_column(sides, axis.columns.front(), spec, kept);
  for (std::size_t i = 1; i < axis.columns.size(); ++i)
    combine(keyed, key_column(sides, axis.columns[i], spec, kept));
  sort_keys(keyed);
  const bool may_be_renamed = spec.group_by == GroupBy::All && sides.size() == 2;
  auto renames = may_be_renamed ? unite_renamed(keyed) : CgroupRenames{};
  Grouping grouping{std::move(keyed.keys),
                    {},
                    std::move(renames.found),
                    std::move(renames.after),
                    renames.is_cut};
  for (std::size_t side = 0; side < sides.size(); ++side)
    grouping.sides.push_back(finish(*sides[side], std::move(keyed.threads[side]),
                                    std::move(keyed.cgroups[side]), grouping));
  return grouping;
}

}  // namespace ctprof
