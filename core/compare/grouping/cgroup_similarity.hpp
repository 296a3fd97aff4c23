// Compares cgroups of two sides by their kinds of threads, to find those that were renamed.
//
// A kind is a pair of a process name pattern and a thread name pattern. Only cgroups that exist on
// one side are compared. The result does not depend on which side is the baseline: pairs are
// ordered by similarity, and equally similar ones by name.
//
// See also: cgroup_renames.hpp (pairs the cgroups).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctprof {

// A group key of the axis `all`, and the sides that have the group.
struct KeyPresence {
  std::string_view cgroup;
  std::string_view pcomm, comm;
  bool on_baseline = false, on_candidate = false;
};

// Names or name patterns of a process and a thread.
struct ThreadKind {
  std::string pcomm, comm;
};

// A cgroup that exists on only one side.
struct OneSidedCgroup {
  std::string_view key;
  std::vector<std::uint32_t> kinds;  // ascending
  bool is_paired = false;
};

struct CgroupSimilarity {
  std::uint32_t baseline, candidate;  // indices in the cgroups of each side
  std::size_t kinds_in_common, kinds_in_either;
};

class CgroupComparer {
 public:
  // REQUIRES: `keys` are sorted, and outlive this object.
  explicit CgroupComparer(std::span<const KeyPresence> keys);

  // The cgroups of the baseline and of the candidate, each sorted by key. The caller marks those
  // that it has paired.
  std::array<std::vector<OneSidedCgroup>, 2>& sides() { return sides_; }

  struct IdenticalCgroups {
    std::vector<CgroupSimilarity> pairs;  // each cgroup is in one pair at most; sorted
    std::vector<CgroupSimilarity> surplus;
  };
  // Returns cgroups with identical kinds. There can be many replicas. Pairs the first cgroups of
  // both sides, then the second ones and so on, which gives the same result as comparing all
  // pairs. Surplus cgroups of one side are paired with the first cgroup of the other side.
  IdenticalCgroups find_identical() const;

  struct SimilarCgroups {
    std::vector<CgroupSimilarity> pairs;  // sorted
    bool is_incomplete = false;           // not all pairs were compared, because there are too many
  };
  // Returns pairs that are similar but not identical, of which at least one cgroup is unpaired.
  SimilarCgroups find_similar() const;

  // Sorts the most similar pairs first, and equally similar pairs by name.
  void sort(std::vector<CgroupSimilarity>& similarities) const;

  // Returns the kinds that only the first cgroup has, ordered by name.
  std::vector<ThreadKind> kinds_only_in_first(const OneSidedCgroup& first,
                                              const OneSidedCgroup& second) const;

 private:
  using Names = std::pair<std::string_view, std::string_view>;

  void add_cgroup(std::span<const KeyPresence> keys);
  void add_if_similar(std::vector<CgroupSimilarity>& found, std::uint32_t a, std::uint32_t b) const;
  bool is_more_similar(const CgroupSimilarity& a, const CgroupSimilarity& b) const;
  Names sorted_names_of(const CgroupSimilarity& similarity) const;

  std::map<Names, std::uint32_t> kinds_;
  std::vector<Names> names_;  // by kind
  std::array<std::vector<OneSidedCgroup>, 2> sides_;
};

}  // namespace ctprof
