// Renamed cgroups: which cgroup that only the baseline has is, under another name, one that only
// the candidate has.
//
// What runs in a cgroup tells it: its kinds of threads, each the patterns of a process's and a
// thread's name. Two cgroups are taken for one if they have ten kinds or more in common, and at
// least nine in ten of all that either has. The most alike pair goes first, and each cgroup into
// one pair; what is left over joins the pair of the cgroup that it is most like. Below what a
// pair's paths differ in, cgroups with equal paths are paired too, whatever runs in them.
// Exchanging the sides exchanges the names and nothing else.
//
// A cgroup that both sides have is not renamed, even if nothing in it is the same.
//
// What is here:   from groups' keys to pairs.
// What is not:    what becomes of the groups (grouping.hpp); how pairs are told (render/).

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
  std::string baseline_root, candidate_root;  // these without the path that they end in alike
  std::uint32_t in_common = 0, in_all = 0;    // kinds of threads
  std::vector<ThreadKind> only_baseline, only_candidate;
  std::vector<std::pair<std::string, std::string>>
      below;  // cgroups that are paired because their parents are
};

struct CgroupRenames {
  std::vector<CgroupRename> found;  // the most alike first
  std::map<std::string, std::string, std::less<>>
      name_of;  // of each cgroup in a pair, that of the baseline's it is told under
  std::map<std::string, std::string, std::less<>>
      after;            // the candidate's name of each cgroup of the baseline in a pair
  bool is_cut = false;  // so many are alike that not all pairs were looked at
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
