// Renamed cgroups: finds cgroups of the baseline that have another name in the candidate.
//
// A cgroup is recognized by its kinds of threads: pairs of a process name pattern and a thread name
// pattern. Two cgroups are considered the same if they share at least ten kinds, and these are at
// least nine tenths of all kinds of both. The most similar cgroups are paired first, each with one
// other. A remaining cgroup joins the pair of the cgroup that it is most similar to. Below the
// differing part of a pair's paths, cgroups with equal relative paths are paired too, independent
// of their threads. Exchanging the sides exchanges the names and changes nothing else.
//
// A cgroup that exists on both sides is never considered renamed.
//
// See also: cgroup_similarity.hpp compares cgroups, grouping.hpp merges the groups, render/ prints
// the pairs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/grouping/cgroup_similarity.hpp"

namespace ctprof {

struct CgroupRename {
  std::string baseline, candidate;                         // keys of cgroups
  std::string baseline_root, candidate_root;               // these paths without their common end
  std::uint32_t kinds_in_common = 0, kinds_in_either = 0;  // kinds of threads
  std::vector<ThreadKind> only_baseline, only_candidate;
  // Cgroups paired because their parents are paired.
  std::vector<std::pair<std::string, std::string>> child_renames;
};

struct CgroupRenames {
  std::vector<CgroupRename> renames;  // the most similar first
  // The baseline's name of each paired cgroup.
  std::map<std::string, std::string, std::less<>> baseline_name_of;
  // The candidate's name of each paired cgroup of the baseline.
  std::map<std::string, std::string, std::less<>> candidate_name_of;
  bool is_incomplete = false;  // not all pairs were found, because there are too many candidates
};

// REQUIRES: `keys` are sorted.
CgroupRenames find_cgroup_renames(std::span<const KeyPresence> keys);
// Also counts the cgroups below others that were visited to find pairs.
CgroupRenames find_cgroup_renames(std::span<const KeyPresence> keys, std::size_t& visited);

}  // namespace ctprof
