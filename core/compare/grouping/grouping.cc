#include "core/compare/grouping/grouping.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/seeded_hash.hpp"

namespace ctprof {
namespace {

using Rows = std::vector<std::uint32_t>;

// Distinct keys, and the index of the key of each group in the grouper.
struct KeyedGroups {
  std::vector<std::string> keys;
  Rows key_of_group;
};

// Assigns one index to equal keys, in order of appearance.
void merge_equal_keys(KeyedGroups& keyed) {
  std::unordered_map<std::string, std::uint32_t, SeededHash> index_by_key;
  Rows index;
  std::vector<std::string> keys;
  for (const std::string& key : keyed.keys) {
    const auto [place, is_new] =
        index_by_key.try_emplace(key, static_cast<std::uint32_t>(keys.size()));
    if (is_new) keys.push_back(key);
    index.push_back(place->second);
  }
  for (std::uint32_t& group : keyed.key_of_group) group = index[group];
  keyed.keys = std::move(keys);
}

// Sorts the keys by their bytes.
void sort_keys(KeyedGroups& keyed) {
  Rows order(keyed.keys.size()), new_index(keyed.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return keyed.keys[a] < keyed.keys[b]; });
  std::vector<std::string> sorted_keys;
  for (const std::uint32_t old : order) {
    new_index[old] = static_cast<std::uint32_t>(sorted_keys.size());
    sorted_keys.push_back(std::move(keyed.keys[old]));
  }
  for (std::uint32_t& group : keyed.key_of_group) group = new_index[group];
  keyed.keys = std::move(sorted_keys);
}

KeyedGroups keyed_groups_of(const RowGrouper& grouper) {
  KeyedGroups keyed{grouper.keys(), {}};
  keyed.key_of_group.resize(keyed.keys.size());
  std::iota(keyed.key_of_group.begin(), keyed.key_of_group.end(), 0);
  merge_equal_keys(keyed);
  sort_keys(keyed);
  return keyed;
}

// The runs of one side.
using Runs = std::span<const RunGroups* const>;

// Returns the keys for which the baseline or the candidate has threads.
std::vector<KeyPresence> find_key_presence(const KeyedGroups& keyed, Runs baseline,
                                           Runs candidate) {
  std::vector<KeyPresence> keys;
  for (const std::string& key : keyed.keys) {
    const auto parts = key_parts(key);
    keys.push_back({parts[0], parts[1], parts[2], false, false});
  }
  const auto mark_side = [&](Runs runs, bool KeyPresence::*side) {
    for (const RunGroups* run : runs)
      for (std::uint32_t own_group = 0; own_group < run->keys.size(); ++own_group)
        if (run->rows(Entity::Thread, own_group) > 0)
          keys[keyed.key_of_group[run->keys[own_group]]].*side = true;
  };
  mark_side(baseline, &KeyPresence::on_baseline);
  mark_side(candidate, &KeyPresence::on_candidate);
  std::erase_if(keys, [](const KeyPresence& key) { return !key.on_baseline && !key.on_candidate; });
  std::sort(keys.begin(), keys.end(), [](const KeyPresence& a, const KeyPresence& b) {
    return std::tie(a.cgroup, a.pcomm, a.comm) < std::tie(b.cgroup, b.pcomm, b.comm);
  });
  return keys;
}

// Merges the groups of renamed cgroups under one name and index. REQUIRES: each key has a cgroup, a
// process and a thread.
void merge_renamed_cgroups(KeyedGroups& keyed, Grouping& grouping, Runs baseline, Runs candidate) {
  CgroupRenames renames = find_cgroup_renames(find_key_presence(keyed, baseline, candidate));
  grouping.renames_are_incomplete = grouping.renames_are_incomplete || renames.is_incomplete;
  if (renames.renames.empty()) return;
  for (std::string& key : keyed.keys) {
    const std::string_view cgroup = key_parts(key).front();
    if (const auto it = renames.baseline_name_of.find(cgroup); it != renames.baseline_name_of.end())
      key.replace(0, cgroup.size(), it->second);
  }
  merge_equal_keys(keyed);
  std::move(renames.renames.begin(), renames.renames.end(), std::back_inserter(grouping.renames));
  grouping.candidate_cgroup_of.merge(renames.candidate_name_of);
}

RunGroupMap map_run_groups(const RunGroups& run, const KeyedGroups& keyed) {
  RunGroupMap places;
  places.first_own_group.assign(keyed.keys.size(), kNoGroup);
  for (std::uint32_t own_group = 0; own_group < run.keys.size(); ++own_group) {
    const std::uint32_t group = keyed.key_of_group[run.keys[own_group]];
    places.group_of.push_back(group);
    if (places.first_own_group[group] == kNoGroup) places.first_own_group[group] = own_group;
  }
  return places;
}

// Returns the rows and threads that one run has in each group.
SideGroups make_side_groups(const RunGroups& run, const RunGroupMap& places) {
  SideGroups side;
  for (const Entity entity : grouped_entities()) {
    auto& rows = side.rows_of[static_cast<std::size_t>(entity)];
    rows.resize(places.first_own_group.size());
    for (std::uint32_t own_group = 0; own_group < run.keys.size(); ++own_group)
      rows[places.group_of[own_group]] += run.rows(entity, own_group);
  }
  side.threads_of.resize(places.first_own_group.size());
  for (std::uint32_t own_group = 0; own_group < run.keys.size(); ++own_group)
    side.threads_of[places.group_of[own_group]] += static_cast<double>(run.threads[own_group]);
  side.rows_of[static_cast<std::size_t>(Entity::Host)] = {run.rows(Entity::Host, 0)};
  return side;
}

SideGroups make_side_groups(std::vector<SideGroups> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  SideGroups side = runs.front();
  for (const SideGroups& run : runs)
    for (std::size_t entity = 0; entity < kEntities; ++entity)
      for (std::size_t group = 0; group < side.rows_of[entity].size(); ++group)
        side.rows_of[entity][group] =
            std::max(side.rows_of[entity][group], run.rows_of[entity][group]);
  for (std::size_t group = 0; group < side.threads_of.size(); ++group) {
    std::vector<double> threads;
    for (const SideGroups& run : runs) threads.push_back(run.threads_of[group]);
    side.threads_of[group] = median_count(std::move(threads));
  }
  return side;
}

}  // namespace

std::vector<std::uint32_t> RunGroupMap::groups_of(std::span<const std::uint32_t> run_groups) const {
  std::vector<std::uint32_t> groups;
  groups.reserve(run_groups.size());
  for (const std::uint32_t row : run_groups)
    groups.push_back(row == kNoGroup ? kNoGroup : group_of[row]);
  return groups;
}

const std::string& Grouping::name(Entity entity, std::uint32_t group) const {
  static const std::string host = "host";
  return entity == Entity::Host ? host : names[group];
}

void Grouping::keep_groups(const std::vector<bool>& is_kept) {
  for (RunGroupMap& run : runs) {
    for (std::uint32_t& group : run.group_of)
      if (group != kNoGroup && !is_kept[group]) group = kNoGroup;
    for (std::uint32_t group = 0; group < names.size(); ++group)
      if (!is_kept[group]) run.first_own_group[group] = kNoGroup;
  }
  for (SideGroups& side : sides) {
    for (std::uint32_t group = 0; group < names.size(); ++group) {
      if (is_kept[group]) continue;
      side.threads_of[group] = 0;
      for (const Entity entity : grouped_entities())
        side.rows_of[static_cast<std::size_t>(entity)][group] = 0;
    }
  }
}

std::vector<std::string_view> key_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = name.find(kPartSeparator);
    parts.push_back(name.substr(0, end));
    if (end == name.npos) return parts;
    name.remove_prefix(end + 1);
  }
}

std::string_view find_candidate_cgroup(const Grouping& grouping, std::string_view name) {
  const auto it = grouping.candidate_cgroup_of.find(key_parts(name).front());
  return it == grouping.candidate_cgroup_of.end() ? std::string_view{} : it->second;
}

std::string_view name_in_condition(const Grouping& grouping, std::string_view name,
                                   std::string_view condition) {
  const auto part = grouping.cgroup_parts.find(name);
  if (part == grouping.cgroup_parts.end() || condition.find(name) != condition.npos) return name;
  return part->second.process;
}

std::string readable_key(std::string_view name) {
  std::string text;
  for (const std::string_view part : key_parts(name)) {
    if (part.data() != name.data()) text += " > ";
    text += part;
  }
  return text;
}

Grouping join(const RowGrouper& grouper, std::span<const RunGroups* const> runs,
              std::span<const SideRuns> sides, GroupBy by) {
  const auto runs_of = [&](const SideRuns& side) { return runs.subspan(side.first, side.count); };
  KeyedGroups keyed = keyed_groups_of(grouper);
  Grouping grouping;
  for (std::size_t side = 1; by == GroupBy::All && side < sides.size(); ++side)
    merge_renamed_cgroups(keyed, grouping, runs_of(sides[0]), runs_of(sides[side]));
  for (const SideRuns& side : sides) {
    std::vector<SideGroups> of_runs;
    for (const RunGroups* run : runs_of(side)) {
      grouping.runs.push_back(map_run_groups(*run, keyed));
      of_runs.push_back(make_side_groups(*run, grouping.runs.back()));
    }
    grouping.sides.push_back(make_side_groups(std::move(of_runs)));
  }
  grouping.names = std::move(keyed.keys);
  grouping.cgroup_parts = grouper.cgroup_parts();
  return grouping;
}

Grouping join(const RowGrouper& grouper, std::span<const RunGroups* const> sides, GroupBy by) {
  return join(grouper, sides, divide_into_sides({}, sides.size()), by);
}

double median_count(std::vector<double> counts) {
  std::ranges::sort(counts);
  const std::size_t middle = counts.size() / 2;
  if (counts.size() % 2 == 1) return counts[middle];
  return (counts[middle - 1] + counts[middle]) / 2;
}

}  // namespace ctprof
