// Grouping: the groups of all sides, joined by their keys.
//
// One list of groups serves all sides, so a group has the same index and name on each. Under `all`
// the groups of a cgroup that was renamed in between (cgroup_renames.hpp) are under the baseline's
// name.
//
// Not here: the groups of one run (group_book.hpp), their figures (figures/).

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/grouping/cgroup_renames.hpp"
#include "core/compare/grouping/group_book.hpp"

namespace ctprof {

// Where the groups of one run are here.
struct RunPlaces {
  std::vector<std::uint32_t> group_of;  // for each of the run's own groups; several can be one
  std::vector<std::uint32_t> own;       // the first of the run's own groups; kNoGroup if none

  // Converts the run's own groups of rows to groups here.
  std::vector<std::uint32_t> groups_of(std::span<const std::uint32_t> own_rows) const;
};

// The groups of one side. Of several runs a group has as many rows as in the run that has most of
// them, and the median of the threads in all of them, which can end in a half.
struct SideGroups {
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // how many rows each group has
  std::vector<double> threads_of;                             // threads, or those of its process

  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    const auto& rows = rows_of[static_cast<std::size_t>(entity)];
    return group < rows.size() ? rows[group] : 0;
  }
  double threads(std::uint32_t group) const { return threads_of[group]; }
};

struct Grouping {
  // Names or patterns, sorted by their bytes; under `all` of three parts (key_parts). A renamed
  // cgroup is sorted by the smaller of its names, so that exchanging the sides does not change the
  // order.
  std::vector<std::string> names;
  std::vector<SideGroups> sides;
  std::vector<RunPlaces> runs;        // those of the first side first
  std::vector<CgroupRename> renames;  // for each candidate, the most alike first
  std::map<std::string, std::string, std::less<>>
      renamed;  // the baseline's cgroup to the candidate's; of several, the most alike
  bool renames_are_cut = false;  // too many cgroups are alike; there may be more renames

  // The number of groups for metrics of this entity; the host has one, named `host`.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : names.size(); }
  const std::string& name(Entity entity, std::uint32_t group) const;
  // Whether any run of the side has the group. The medians of such a group can still be zero.
  bool has(std::size_t side, std::uint32_t group) const {
    return sides[side].threads(group) > 0 || sides[side].rows(Entity::Thread, group) > 0 ||
           sides[side].rows(Entity::Process, group) > 0 ||
           sides[side].rows(Entity::Cgroup, group) > 0;
  }
  // Empties the groups that do not stay. Metrics of the host are not affected. REQUIRES: one entry
  // for each name.
  void keep(const std::vector<bool>& stays);
};

// The median of one count in the runs of a side: of an even number of runs, the mean of the middle
// two. REQUIRES: one count at least.
double median_count(std::vector<double> counts);

// The parts of a group's name: one, or under `all` its cgroup, process and thread.
std::vector<std::string_view> key_parts(std::string_view name);
// The candidate's name of a group's cgroup if it was renamed, otherwise nothing.
std::string_view renamed_to(const Grouping& grouping, std::string_view name);
// A name of several parts in one line: "cgroup > process > thread".
std::string readable_key(std::string_view name);

// Joins the groups of the runs; the first side is the baseline. `sides` says whose the runs are.
// REQUIRES: runs added to the book, under that axis.
Grouping join(const GroupBook& book, std::span<const RunGroups* const> runs,
              std::span<const SideRuns> sides, GroupBy by);
// The same where each run is a side.
Grouping join(const GroupBook& book, std::span<const RunGroups* const> sides, GroupBy by);

}  // namespace ctprof
