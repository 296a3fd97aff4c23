// Renamed cgroups: finds cgroups that only the baseline has and that the candidate has under
// another name.
//
// A cgroup is recognised by what runs in it: its kinds of threads, each a pattern of a process name
// and one of a thread name. Two cgroups are taken for one if they have at least ten kinds in
// common, and these are at least nine in ten of all kinds that either has. The most alike are
// paired first, each with one other; a cgroup that is left over joins the pair of the one that it
// is most like. Below the part in which a pair's paths differ, cgroups with equal paths are paired
// too, whatever runs in them. Exchanging the sides exchanges the names and changes nothing else.
//
// A cgroup that both sides have is never taken as renamed.
//
// Not here: what happens to the groups (grouping.hpp), how pairs are printed (render/).

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctprof {

// Names of processes and threads, or their patterns.
struct ThreadKind {
  std::string pcomm, comm;
};

struct CgroupRename {
  std::string baseline, candidate;            // keys of cgroups
  std::string baseline_root, candidate_root;  // these without their common end
  std::uint32_t in_common = 0, in_all = 0;    // kinds of threads
  std::vector<ThreadKind> only_baseline, only_candidate;
  std::vector<std::pair<std::string, std::string>>
      below;  // cgroups that are paired because their parents are
};

struct CgroupRenames {
  std::vector<CgroupRename> found;  // the most alike first
  std::map<std::string, std::string, std::less<>>
      name_of;  // for each cgroup in a pair, the baseline's name
  std::map<std::string, std::string, std::less<>>
      after;            // the candidate's name of each cgroup of the baseline in a pair
  bool is_cut = false;  // so many are alike that not all pairs were compared
};

// A group's key under `all`, and which sides have it.
struct SidedKey {
  std::string_view cgroup;
  std::string_view pcomm, comm;
  bool on_baseline = false, on_candidate = false;
};

// REQUIRES: keys in order.
CgroupRenames find_cgroup_renames(std::span<const SidedKey> keys);

}  // namespace ctprof
