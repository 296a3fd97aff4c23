#include "core/compare/grouping/cgroup_renames.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace ctprof {
namespace {

// Returns the paths without their common end.
std::pair<std::string_view, std::string_view> remove_common_end(std::string_view a,
                                                                std::string_view b) {
  while (true) {
    const auto x = a.rfind('/'), y = b.rfind('/');
    if (x == a.npos || y == b.npos || a.substr(x) != b.substr(y)) break;
    a = a.substr(0, x);
    b = b.substr(0, y);
  }
  return {a == "/" ? "" : a, b == "/" ? "" : b};
}

// Returns the first cgroup whose key is not less. REQUIRES: `side` is sorted by key.
std::vector<OneSidedCgroup>::iterator find_first(std::vector<OneSidedCgroup>& side,
                                                 std::string_view key) {
  return std::lower_bound(
      side.begin(), side.end(), key,
      [](const OneSidedCgroup& cgroup, std::string_view text) { return cgroup.key < text; });
}

// Limits the work of pairing descendants, counted in cgroups below a root.
constexpr std::size_t kMaxVisitedDescendants = 16'000'000;

// Pairs cgroups: first identical ones, then the most similar ones, then their descendants.
class RenameFinder {
 public:
  explicit RenameFinder(std::span<const KeyPresence> keys) : comparer_(keys) {}

  std::size_t visited() const { return visited_; }
  CgroupRenames find() {
    auto [identical, left_over] = comparer_.find_identical();
    for (const CgroupSimilarity& similarity : identical) pair_first_time(similarity);
    const auto similar = comparer_.find_similar();
    renames_.is_incomplete = similar.is_incomplete;
    for (const CgroupSimilarity& similarity : similar.pairs) {
      if (baseline(similarity).is_paired || candidate(similarity).is_paired)
        left_over.push_back(similarity);
      else
        pair_first_time(similarity);
    }
    comparer_.sort(left_over);
    for (const CgroupSimilarity& similarity : left_over) join_pair(similarity);
    for (CgroupRename& rename : renames_.renames) pair_descendants(rename);
    for (const CgroupRename& rename : renames_.renames) {
      renames_.candidate_name_of.emplace(rename.baseline, rename.candidate);
      renames_.candidate_name_of.insert(rename.child_renames.begin(), rename.child_renames.end());
    }
    return std::move(renames_);
  }

 private:
  OneSidedCgroup& baseline(const CgroupSimilarity& similarity) {
    return comparer_.sides()[0][similarity.baseline];
  }
  OneSidedCgroup& candidate(const CgroupSimilarity& similarity) {
    return comparer_.sides()[1][similarity.candidate];
  }

  void pair_first_time(const CgroupSimilarity& similarity) {
    pair(similarity, std::string(baseline(similarity).key));
  }

  // If only one of both is paired, the other one joins its pair.
  void join_pair(const CgroupSimilarity& similarity) {
    const OneSidedCgroup &a = baseline(similarity), &b = candidate(similarity);
    if (a.is_paired != b.is_paired)
      pair(similarity, renames_.baseline_name_of.find(a.is_paired ? a.key : b.key)->second);
  }

  void pair(const CgroupSimilarity& similarity, std::string name) {
    OneSidedCgroup &a = baseline(similarity), &b = candidate(similarity);
    a.is_paired = b.is_paired = true;
    renames_.baseline_name_of.emplace(a.key, name);
    renames_.baseline_name_of.emplace(b.key, std::move(name));
    CgroupRename& rename = renames_.renames.emplace_back();
    rename.baseline = a.key;
    rename.candidate = b.key;
    std::tie(rename.baseline_root, rename.candidate_root) = remove_common_end(a.key, b.key);
    rename.kinds_in_common = static_cast<std::uint32_t>(similarity.kinds_in_common);
    rename.kinds_in_either = static_cast<std::uint32_t>(similarity.kinds_in_either);
    rename.only_baseline = comparer_.kinds_only_in_first(a, b);
    rename.only_candidate = comparer_.kinds_only_in_first(b, a);
  }

  // Visits the descendants of equal roots once: a second visit finds no other pairs.
  void pair_descendants(CgroupRename& rename) {
    auto& [baselines, candidates] = comparer_.sides();
    if (!visited_roots_.emplace(rename.baseline_root, rename.candidate_root).second) return;
    const std::string_view root = rename.baseline_root;
    for (auto it = find_first(baselines, root); it != baselines.end() && it->key.starts_with(root);
         ++it) {
      if (visited_ == kMaxVisitedDescendants) return void(renames_.is_incomplete = true);
      ++visited_;
      const std::string_view rest = it->key.substr(root.size());
      if (it->is_paired || (!rest.empty() && rest.front() != '/')) continue;
      const std::string key = rename.candidate_root + std::string(rest);
      const auto other = find_first(candidates, key);
      if (other == candidates.end() || other->key != key || other->is_paired) continue;
      it->is_paired = other->is_paired = true;
      renames_.baseline_name_of.emplace(it->key, it->key);
      renames_.baseline_name_of.emplace(other->key, it->key);
      rename.child_renames.emplace_back(it->key, other->key);
    }
  }

  CgroupComparer comparer_;
  CgroupRenames renames_;
  std::size_t visited_ = 0;
  std::set<std::pair<std::string, std::string>> visited_roots_;
};

}  // namespace

CgroupRenames find_cgroup_renames(std::span<const KeyPresence> keys) {
  std::size_t visited = 0;
  return find_cgroup_renames(keys, visited);
}

CgroupRenames find_cgroup_renames(std::span<const KeyPresence> keys, std::size_t& visited) {
  RenameFinder finder(keys);
  CgroupRenames found = finder.find();
  visited = finder.visited();
  return found;
}

}  // namespace ctprof
