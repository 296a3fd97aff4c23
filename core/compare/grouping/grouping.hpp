// Grouping: the groups of all sides that are compared, joined by their keys.
//
// One list of groups serves all sides, so a group has one index on each, and names have the same
// pattern on each. Under `all` a cgroup that was renamed in between (cgroup_renames.hpp) has its
// groups under the baseline's name.
//
// What is here:   the list, and which of a run's own groups each is.
// What is not:    the groups of one run (group_book.hpp); what they come to (figures/).

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

// The groups of one side.
struct SideGroups {
  std::vector<std::uint32_t> group_of;  // of each of the run's own; several can be one
  std::vector<std::uint32_t> own;       // the first of the run's own for each; kNoGroup: none
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // how many rows each group has
  std::vector<std::uint32_t> threads_of;  // and how many threads, or those of its process

  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    const auto& rows = rows_of[static_cast<std::size_t>(entity)];
    return group < rows.size() ? rows[group] : 0;
  }
  std::uint32_t threads(std::uint32_t group) const { return threads_of[group]; }
  // Rows whose groups are the run's own, by their groups here.
  std::vector<std::uint32_t> groups_of(std::span<const std::uint32_t> own_rows) const;
};

struct Grouping {
  // Or their patterns, sorted by their bytes; under `all` three at once, see key_parts. What was
  // renamed stands where the first of its names has it, so that exchanging the sides changes no
  // order.
  std::vector<std::string> names;
  std::vector<SideGroups> sides;
  std::vector<CgroupRename> renames;  // the most alike first, of each candidate in turn
  std::map<std::string, std::string, std::less<>>
      renamed;                   // from the baseline's cgroup to the candidate's, of the most alike
  bool renames_are_cut = false;  // there may be more: too many are alike

  // Groups that metrics of this entity fall into: the host has one, named `host`.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : names.size(); }
  const std::string& name(Entity entity, std::uint32_t group) const;
  // Whether a side has anything of the group.
  bool has(std::size_t side, std::uint32_t group) const {
    return sides[side].threads(group) > 0 || sides[side].rows(Entity::Process, group) > 0 ||
           sides[side].rows(Entity::Cgroup, group) > 0;
  }
  // Empties the other groups; of the host there is nothing to leave out. REQUIRES: one for each
  // name.
  void keep(const std::vector<bool>& stays);
};

// The parts of a group's name: one, or under `all` its cgroup, process and thread.
std::vector<std::string_view> key_parts(std::string_view name);
// The candidate's name of a group's cgroup where it was renamed; else none. Of several, that of the
// most alike.
std::string_view renamed_to(const Grouping& grouping, std::string_view name);
// A name of several parts in one line: "cgroup > process > thread".
std::string readable_key(std::string_view name);

// Joins the groups of the sides, of which the first is the baseline. REQUIRES: made by the book,
// under that axis.
Grouping join(const GroupBook& book, std::span<const RunGroups* const> sides, GroupBy by);

}  // namespace ctprof
