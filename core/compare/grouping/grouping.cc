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

// Distinct keys, and the index of the key of each group in the book.
struct Keyed {
  std::vector<std::string> keys;
  Rows of_book;
};

// Assigns one index to equal keys, in order of appearance.
void unite(Keyed& keyed) {
  std::unordered_map<std::string, std::uint32_t, SeededHash> known;
  Rows index;
  std::vector<std::string> keys;
  for (const std::string& key : keyed.keys) {
    const auto [place, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(keys.size()));
    if (is_new) keys.push_back(key);
    index.push_back(place->second);
  }
  for (std::uint32_t& group : keyed.of_book) group = index[group];
  keyed.keys = std::move(keys);
}

// Sorts the keys by their bytes.
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
  for (std::uint32_t& group : keyed.of_book) group = new_index[group];
  keyed.keys = std::move(sorted);
}

Keyed keyed_by(const GroupBook& book) {
  Keyed keyed{book.keys(), {}};
  keyed.of_book.resize(keyed.keys.size());
  std::iota(keyed.of_book.begin(), keyed.of_book.end(), 0);
  unite(keyed);
  sort_keys(keyed);
  return keyed;
}

// The runs of one side.
using Runs = std::span<const RunGroups* const>;

// Returns the keys for which the baseline or the candidate has threads.
std::vector<SidedKey> sided_keys(const Keyed& keyed, Runs baseline, Runs candidate) {
  std::vector<SidedKey> keys;
  for (const std::string& key : keyed.keys) {
    const auto parts = key_parts(key);
    keys.push_back({parts[0], parts[1], parts[2], false, false});
  }
  const auto mark = [&](Runs runs, bool SidedKey::*side) {
    for (const RunGroups* run : runs)
      for (std::uint32_t own = 0; own < run->keys.size(); ++own)
        if (run->rows(Entity::Thread, own) > 0) keys[keyed.of_book[run->keys[own]]].*side = true;
  };
  mark(baseline, &SidedKey::on_baseline);
  mark(candidate, &SidedKey::on_candidate);
  std::erase_if(keys, [](const SidedKey& key) { return !key.on_baseline && !key.on_candidate; });
  std::sort(keys.begin(), keys.end(), [](const SidedKey& a, const SidedKey& b) {
    return std::tie(a.cgroup, a.pcomm, a.comm) < std::tie(b.cgroup, b.pcomm, b.comm);
  });
  return keys;
}

// Merges the groups of renamed cgroups under one name and index. REQUIRES: each key has a cgroup, a
// process and a thread.
void unite_renamed(Keyed& keyed, Grouping& grouping, Runs baseline, Runs candidate) {
  CgroupRenames renames = find_cgroup_renames(sided_keys(keyed, baseline, candidate));
  grouping.renames_are_cut = grouping.renames_are_cut || renames.is_cut;
  if (renames.found.empty()) return;
  for (std::string& key : keyed.keys) {
    const std::string_view cgroup = key_parts(key).front();
    if (const auto it = renames.name_of.find(cgroup); it != renames.name_of.end())
      key.replace(0, cgroup.size(), it->second);
  }
  unite(keyed);
  std::move(renames.found.begin(), renames.found.end(), std::back_inserter(grouping.renames));
  grouping.renamed.merge(renames.after);
}

RunPlaces places_of(const RunGroups& run, const Keyed& keyed) {
  RunPlaces places;
  places.own.assign(keyed.keys.size(), kNoGroup);
  for (std::uint32_t own = 0; own < run.keys.size(); ++own) {
    const std::uint32_t group = keyed.of_book[run.keys[own]];
    places.group_of.push_back(group);
    if (places.own[group] == kNoGroup) places.own[group] = own;
  }
  return places;
}

// Returns the rows and threads that one run has in each group.
SideGroups side_of(const RunGroups& run, const RunPlaces& places) {
  SideGroups side;
  for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup}) {
    auto& rows = side.rows_of[static_cast<std::size_t>(entity)];
    rows.resize(places.own.size());
    for (std::uint32_t own = 0; own < run.keys.size(); ++own)
      rows[places.group_of[own]] += run.rows(entity, own);
  }
  side.threads_of.resize(places.own.size());
  for (std::uint32_t own = 0; own < run.keys.size(); ++own)
    side.threads_of[places.group_of[own]] += static_cast<double>(run.threads[own]);
  side.rows_of[static_cast<std::size_t>(Entity::Host)] = {run.rows(Entity::Host, 0)};
  return side;
}

SideGroups side_of(std::vector<SideGroups> runs) {
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

std::vector<std::uint32_t> RunPlaces::groups_of(std::span<const std::uint32_t> own_rows) const {
  std::vector<std::uint32_t> groups;
  groups.reserve(own_rows.size());
  for (const std::uint32_t row : own_rows)
    groups.push_back(row == kNoGroup ? kNoGroup : group_of[row]);
  return groups;
}

const std::string& Grouping::name(Entity entity, std::uint32_t group) const {
  static const std::string host = "host";
  return entity == Entity::Host ? host : names[group];
}

void Grouping::keep(const std::vector<bool>& stays) {
  for (RunPlaces& run : runs) {
    for (std::uint32_t& group : run.group_of)
      if (group != kNoGroup && !stays[group]) group = kNoGroup;
    for (std::uint32_t group = 0; group < names.size(); ++group)
      if (!stays[group]) run.own[group] = kNoGroup;
  }
  for (SideGroups& side : sides) {
    for (std::uint32_t group = 0; group < names.size(); ++group) {
      if (stays[group]) continue;
      side.threads_of[group] = 0;
      for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup})
        side.rows_of[static_cast<std::size_t>(entity)][group] = 0;
    }
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

Grouping join(const GroupBook& book, std::span<const RunGroups* const> runs,
              std::span<const SideRuns> sides, GroupBy by) {
  const auto runs_of = [&](const SideRuns& side) { return runs.subspan(side.first, side.count); };
  Keyed keyed = keyed_by(book);
  Grouping grouping;
  for (std::size_t side = 1; by == GroupBy::All && side < sides.size(); ++side)
    unite_renamed(keyed, grouping, runs_of(sides[0]), runs_of(sides[side]));
  for (const SideRuns& side : sides) {
    std::vector<SideGroups> of_runs;
    for (const RunGroups* run : runs_of(side)) {
      grouping.runs.push_back(places_of(*run, keyed));
      of_runs.push_back(side_of(*run, grouping.runs.back()));
    }
    grouping.sides.push_back(side_of(std::move(of_runs)));
  }
  grouping.names = std::move(keyed.keys);
  return grouping;
}

Grouping join(const GroupBook& book, std::span<const RunGroups* const> sides, GroupBy by) {
  return join(book, sides, sides_of({}, sides.size()), by);
}

double median_count(std::vector<double> counts) {
  std::ranges::sort(counts);
  const std::size_t middle = counts.size() / 2;
  if (counts.size() % 2 == 1) return counts[middle];
  return (counts[middle - 1] + counts[middle]) / 2;
}

}  // namespace ctprof
