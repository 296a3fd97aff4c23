// Grouping: joins the groups of all sides by their keys.
//
// All sides share one list of groups, so a group has the same index and name on each side. Under
// `all`, the groups of a renamed cgroup (cgroup_renames.hpp) have the baseline's name.
//
// See also: row_grouper.hpp for the groups of one run, figures/ for their values.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/grouping/cgroup_renames.hpp"
#include "core/compare/grouping/process_cgroups.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {

// Maps the groups of one run to the joined groups.
struct RunGroupMap {
  std::vector<std::uint32_t> group_of;  // indexed by the run's own groups; several can map to one
  // The first own group of each joined group; kNoGroup if none.
  std::vector<std::uint32_t> first_own_group;

  // Converts the run's own group of each row to the joined group.
  std::vector<std::uint32_t> groups_of(std::span<const std::uint32_t> run_groups) const;
};

// The groups of one side. For several runs, the row count of a group is the largest of all runs,
// and its thread count is the median, which can end in a half.
struct SideGroups {
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // the number of rows of each group
  std::vector<double> threads_of;  // threads of each group, or of its single process

  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    const auto& rows = rows_of[static_cast<std::size_t>(entity)];
    return group < rows.size() ? rows[group] : 0;
  }
  double threads(std::uint32_t group) const { return threads_of[group]; }
};

struct Grouping {
  // Names or patterns, sorted by their bytes; under `all` a name has three parts (key_parts). A
  // renamed cgroup is sorted by the smaller of its names, so that exchanging the sides does not
  // change the order.
  std::vector<std::string> names;
  std::vector<SideGroups> sides;
  std::vector<RunGroupMap> runs;      // the runs of the first side come first
  std::vector<CgroupRename> renames;  // for each candidate, the most similar first
  // From the baseline's cgroup to the candidate's; for several candidates, the most similar.
  std::map<std::string, std::string, std::less<>> candidate_cgroup_of;
  CgroupParts cgroup_parts;             // of the groups whose names are divided by cgroup
  bool renames_are_incomplete = false;  // too many cgroups are similar, so more renames may exist

  // Returns the number of groups for metrics of this entity. The host has one group, named `host`.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : names.size(); }
  const std::string& name(Entity entity, std::uint32_t group) const;
  // Returns whether any run of the side has the group. The medians of such a group can still be
  // zero.
  bool has_group(std::size_t side, std::uint32_t group) const {
    return sides[side].threads(group) > 0 || sides[side].rows(Entity::Thread, group) > 0 ||
           sides[side].rows(Entity::Process, group) > 0 ||
           sides[side].rows(Entity::Cgroup, group) > 0;
  }
  // Empties the groups for which `is_kept` is false. Metrics of the host are not affected.
  // REQUIRES: `is_kept` has one entry for each name.
  void keep_groups(const std::vector<bool>& is_kept);
};

// Returns the median of one count over the runs of a side. For an even number of runs it is the
// mean of the middle two. REQUIRES: `counts` is not empty.
double median_count(std::vector<double> counts);

// Splits the name of a group into its parts: one part, or under `all` cgroup, process and thread.
std::vector<std::string_view> key_parts(std::string_view name);
// Returns the candidate's name of the group's cgroup if it was renamed, otherwise an empty text.
std::string_view find_candidate_cgroup(const Grouping& grouping, std::string_view name);
// Returns the name of a group as conditions compare it. If the name is divided by cgroup, such as
// "nginx (web.service)", it is the process, unless the text of the condition contains the whole
// name.
std::string_view name_in_condition(const Grouping& grouping, std::string_view name,
                                   std::string_view condition);
// Formats a name of several parts in one line: "cgroup > process > thread".
std::string readable_key(std::string_view name);

// Joins the groups of the runs; the first side is the baseline. `sides` assigns runs to sides.
// REQUIRES: the runs were added to the grouper, whose axis is `by`.
Grouping join(const RowGrouper& grouper, std::span<const RunGroups* const> runs,
              std::span<const SideRuns> sides, GroupBy by);
// Joins the groups where each run is a side.
Grouping join(const RowGrouper& grouper, std::span<const RunGroups* const> sides, GroupBy by);

}  // namespace ctprof
