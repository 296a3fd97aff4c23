// Divides processes with the same name by cgroup: decides which of them form a group of their own,
// and names these groups.
//
//   nginx in /system.slice/web.service and in /docker/0123456789ab...
//                              nginx (web.service), nginx (docker-0123456789ab)
//
// A name that no window has in more than one cgroup remains one group, and so does a name whose
// cgroup is unknown in a window. A process belongs to the cgroup of its leader.
//
// Cgroups that start and end, such as those of containers that are replaced, count as one family
// (CgroupFamilies). A cgroup is distinguished from others of its family only if each window that
// contains the name contains it in this cgroup, and a thread of the cgroup existed throughout the
// window. All sides are treated equally.
//
// See also: row_grouper.hpp groups rows, services.hpp names units, containers and pods.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compare/grouping/key_families.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A group of processes with the same name, in one of several cgroups.
struct CgroupPart {
  std::string process;  // the key of the group without its cgroup
  std::string cgroup;   // the path, or a pattern of paths; empty if it is long
};
// By the key of the group.
using CgroupParts = std::map<std::string, CgroupPart, std::less<>>;

class ProcessCgroups {
 public:
  static constexpr std::uint32_t kUnknown = 0;

  explicit ProcessCgroups(const CgroupNaming& naming) : naming_(naming), families_(naming) {}

  // Returns the number of the cgroup of each thread's process. It is unknown for all threads of a
  // snapshot that is not a window; of rows that only the opening of a window has, pass the window.
  std::vector<std::uint32_t> number_rows(const Snapshot& snapshot, const Snapshot& window);

  // Adds a run, and moves processes with an unknown cgroup to the cgroup in which the run has their
  // name, if it is the only one. `names` has the number of each row's name, UINT32_MAX for a row
  // that does not count.
  void add_run(std::span<const std::uint32_t> names, std::vector<std::uint32_t>& cgroups);
  // Moves rows that only the opening of the last run has to the only cgroup in which the run has
  // their name, if the run does not have their name in their own cgroup.
  void move_opening_rows(std::span<const std::uint32_t> names,
                         std::vector<std::uint32_t>& cgroups) const;

  // Returns the key of each pair of a name (the upper half) and a cgroup. `names` has the key of
  // each name. Fills `parts`.
  std::vector<std::string> make_keys(std::span<const std::string> names,
                                     std::span<const std::uint64_t> pairs,
                                     CgroupParts& parts) const;

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // a name and a cgroup
  // A lasting cgroup, or the cgroups of a family that do not last.
  struct Cgroup {
    std::uint32_t family = 0;
    bool is_lasting = false;
    std::string path{};        // the only or the first path
    bool has_several = false;  // whether it has several paths
  };
  std::uint32_t find_or_add(std::string_view path, bool is_lasting);
  std::map<Pair, bool> find_lasting_pairs() const;
  // The path or pattern of the cgroup of each pair; unknown cgroups have none. The texts are those
  // of this object and of `families`.
  struct CgroupTexts {
    std::vector<std::string> families;
    std::map<Pair, std::string_view> of_pair;
  };
  CgroupTexts find_cgroup_texts() const;
  std::set<std::uint32_t> find_divided_names(const CgroupTexts& texts) const;
  // By name: the label of each of its cgroup texts. Only of names that are divided.
  using Labels = std::map<std::uint32_t, std::map<std::string_view, std::string>>;
  Labels make_labels(const CgroupTexts& texts) const;

  CgroupNaming naming_;
  CgroupFamilies families_;
  std::vector<Cgroup> cgroups_{1};  // the first is kUnknown
  // By family and path; the path is empty for cgroups that do not last.
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known_;
  std::vector<std::vector<Pair>> runs_;  // the pairs of each run, sorted
};

// Returns the shortest distinguishing part of each path, in the order of the paths: a unit, a
// container or a pod where it differs from those of all other paths, otherwise another component or
// the last components. Long parts are shortened. REQUIRES: the paths are distinct.
std::vector<std::string> distinguish_paths(std::span<const std::string_view> paths);

}  // namespace ctprof
