#include "core/compare/grouping/cgroup_renames.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>

namespace ctprof {
namespace {

constexpr std::size_t kMinCommonKinds = 10;
// The minimum ratio of shared kinds to all kinds of two similar cgroups: kMinShareNumerator /
// kMinShareDenominator.
constexpr std::size_t kMinShareNumerator = 9, kMinShareDenominator = 10;

// Limits the work of comparing pairs, counted in kinds. Ten thousand real cgroups produce a few
// thousand pairs with a few dozen kinds each.
constexpr std::size_t kMaxComparedKinds = 16'000'000;

using Kinds = std::vector<std::uint32_t>;

// A cgroup that exists on only one side.
struct Candidate {
  std::string_view key;
  Kinds kinds;  // ascending
  bool is_paired = false;
};

struct CgroupSimilarity {
  std::uint32_t baseline, candidate;  // indices
  std::size_t kinds_in_common, kinds_in_either;
};

// Returns both names in an order that does not depend on the sides.
std::pair<std::string_view, std::string_view> sorted_names_of(
    const CgroupSimilarity& similarity, const std::array<std::vector<Candidate>, 2>& sides) {
  const std::string_view a = sides[0][similarity.baseline].key,
                         b = sides[1][similarity.candidate].key;
  return {std::min(a, b), std::max(a, b)};
}

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

class RenameFinder {
 public:
  explicit RenameFinder(std::span<const KeyPresence> keys) : keys_(keys) {
    for (std::size_t begin = 0; begin < keys.size();) {
      std::size_t end = begin;
      while (end < keys.size() && keys[end].cgroup == keys[begin].cgroup) ++end;
      add_cgroup(begin, end);
      begin = end;
    }
  }

  CgroupRenames find() {
    std::vector<CgroupSimilarity> left_over;
    pair_identical(left_over);
    for (const CgroupSimilarity& similarity : find_similar_pairs()) {
      const Candidate &a = sides_[0][similarity.baseline], &b = sides_[1][similarity.candidate];
      if (a.is_paired || b.is_paired)
        left_over.push_back(similarity);
      else
        pair(similarity, std::string(a.key));
    }
    sort(left_over);
    for (const CgroupSimilarity& similarity : left_over) {
      const Candidate &a = sides_[0][similarity.baseline], &b = sides_[1][similarity.candidate];
      if (a.is_paired != b.is_paired)
        pair(similarity, renames_.baseline_name_of.find(a.is_paired ? a.key : b.key)->second);
    }
    for (CgroupRename& rename : renames_.renames) pair_descendants(rename);
    for (const CgroupRename& rename : renames_.renames) {
      renames_.candidate_name_of.emplace(rename.baseline, rename.candidate);
      renames_.candidate_name_of.insert(rename.child_renames.begin(), rename.child_renames.end());
    }
    return std::move(renames_);
  }

 private:
  // Adds the keys of one cgroup, unless its name is empty.
  void add_cgroup(std::size_t begin, std::size_t end) {
    std::array<Candidate, 2> by_side{Candidate{keys_[begin].cgroup, {}},
                                     Candidate{keys_[begin].cgroup, {}}};
    for (std::size_t i = begin; i < end; ++i) {
      const std::pair names{keys_[i].pcomm, keys_[i].comm};
      const auto [known, is_new] =
          kinds_.try_emplace(names, static_cast<std::uint32_t>(kinds_.size()));
      if (is_new) names_.push_back(names);
      const auto kind = known->second;
      if (keys_[i].on_baseline) by_side[0].kinds.push_back(kind);
      if (keys_[i].on_candidate) by_side[1].kinds.push_back(kind);
    }
    if (keys_[begin].cgroup.empty() || by_side[0].kinds.empty() == by_side[1].kinds.empty()) return;
    const std::size_t side = by_side[0].kinds.empty() ? 1 : 0;
    std::sort(by_side[side].kinds.begin(), by_side[side].kinds.end());
    sides_[side].push_back(std::move(by_side[side]));
  }

  // There can be many replicas with identical kinds. Pairs the first cgroups of both sides, then
  // the second ones and so on, which gives the same result as comparing all pairs. Surplus cgroups
  // of one side are paired with the first cgroup of the other side.
  void pair_identical(std::vector<CgroupSimilarity>& surplus_pairs) {
    std::map<Kinds, std::array<std::vector<std::uint32_t>, 2>> candidates_by_kinds;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::uint32_t i = 0; i < sides_[side].size(); ++i)
        candidates_by_kinds[sides_[side][i].kinds][side].push_back(i);
    std::vector<CgroupSimilarity> found;
    for (const auto& [kinds, by_side] : candidates_by_kinds) {
      if (kinds.size() < kMinCommonKinds || by_side[0].empty() || by_side[1].empty()) continue;
      const std::size_t common_count = std::min(by_side[0].size(), by_side[1].size());
      for (std::size_t i = 0; i < std::max(by_side[0].size(), by_side[1].size()); ++i) {
        const std::uint32_t a = i < by_side[0].size() ? by_side[0][i] : by_side[0][0],
                            b = i < by_side[1].size() ? by_side[1][i] : by_side[1][0];
        (i < common_count ? found : surplus_pairs).push_back({a, b, kinds.size(), kinds.size()});
      }
    }
    sort(found);
    for (const CgroupSimilarity& similarity : found)
      pair(similarity, std::string(sides_[0][similarity.baseline].key));
  }

  // Returns pairs that are similar but not identical, of which at least one cgroup is unpaired.
  std::vector<CgroupSimilarity> find_similar_pairs() {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> candidates_by_kinds,
        unpaired_by_kind;  // kind -> candidates
    for (std::uint32_t i = 0; i < sides_[1].size(); ++i)
      for (const std::uint32_t kind : search_prefix(sides_[1][i].kinds)) {
        candidates_by_kinds[kind].push_back(i);
        if (!sides_[1][i].is_paired) unpaired_by_kind[kind].push_back(i);
      }
    std::vector<CgroupSimilarity> found;
    std::size_t compared_kinds = 0;
    for (std::uint32_t i = 0;
         i < sides_[0].size() && !(renames_.is_incomplete = compared_kinds > kMaxComparedKinds);
         ++i) {
      const auto& others = sides_[0][i].is_paired ? unpaired_by_kind : candidates_by_kinds;
      std::set<std::uint32_t> other_candidates;
      for (const std::uint32_t kind : search_prefix(sides_[0][i].kinds))
        if (const auto it = others.find(kind); it != others.end())
          other_candidates.insert(it->second.begin(), it->second.end());
      for (const std::uint32_t other : other_candidates) {
        add_if_similar(found, i, other);
        compared_kinds += sides_[0][i].kinds.size() + sides_[1][other].kinds.size();
      }
    }
    sort(found);
    return found;
  }

  // Sorts the most similar pairs first, and equally similar pairs by name.
  void sort(std::vector<CgroupSimilarity>& similarities) const {
    std::sort(similarities.begin(), similarities.end(),
              [&](const CgroupSimilarity& a, const CgroupSimilarity& b) {
                return is_more_similar(a, b);
              });
  }

  // Returns the first kinds of a set, enough that any two similar sets have one of them in common.
  static std::span<const std::uint32_t> search_prefix(const Kinds& kinds) {
    if (kinds.size() < kMinCommonKinds) return {};
    const std::size_t max_missing_kinds =
        (kMinShareNumerator * kinds.size() + kMinShareDenominator - 1) / kMinShareDenominator - 1;
    return std::span(kinds).first(kinds.size() - max_missing_kinds);
  }

  void add_if_similar(std::vector<CgroupSimilarity>& found, std::uint32_t a,
                      std::uint32_t b) const {
    const Kinds &x = sides_[0][a].kinds, &y = sides_[1][b].kinds;
    Kinds common;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
    const std::size_t in_all = x.size() + y.size() - common.size();
    const bool is_similar = common.size() >= kMinCommonKinds &&
                            kMinShareDenominator * common.size() >= kMinShareNumerator * in_all;
    if (is_similar && common.size() < in_all) found.push_back({a, b, common.size(), in_all});
  }

  bool is_more_similar(const CgroupSimilarity& a, const CgroupSimilarity& b) const {
    const std::size_t x = a.kinds_in_common * b.kinds_in_either,
                      y = b.kinds_in_common * a.kinds_in_either;
    if (x != y) return x > y;
    if (a.kinds_in_common != b.kinds_in_common) return a.kinds_in_common > b.kinds_in_common;
    return sorted_names_of(a, sides_) < sorted_names_of(b, sides_);
  }

  void pair(const CgroupSimilarity& similarity, std::string name) {
    Candidate &a = sides_[0][similarity.baseline], &b = sides_[1][similarity.candidate];
    a.is_paired = b.is_paired = true;
    renames_.baseline_name_of.emplace(a.key, name);
    renames_.baseline_name_of.emplace(b.key, std::move(name));
    CgroupRename& rename = renames_.renames.emplace_back();
    rename.baseline = a.key;
    rename.candidate = b.key;
    std::tie(rename.baseline_root, rename.candidate_root) = remove_common_end(a.key, b.key);
    rename.kinds_in_common = static_cast<std::uint32_t>(similarity.kinds_in_common);
    rename.kinds_in_either = static_cast<std::uint32_t>(similarity.kinds_in_either);
    rename.only_baseline = kinds_only_in_first(a.kinds, b.kinds);
    rename.only_candidate = kinds_only_in_first(b.kinds, a.kinds);
  }

  // Returns the kinds that only the first set contains, ordered by name.
  std::vector<ThreadKind> kinds_only_in_first(const Kinds& kinds, const Kinds& others) const {
    Kinds first_only;
    std::set_difference(kinds.begin(), kinds.end(), others.begin(), others.end(),
                        std::back_inserter(first_only));
    std::set<std::pair<std::string_view, std::string_view>> names;
    for (const std::uint32_t kind : first_only) names.insert(names_[kind]);
    std::vector<ThreadKind> found;
    for (const auto& [pcomm, comm] : names)
      found.push_back({std::string(pcomm), std::string(comm)});
    return found;
  }

  // REQUIRES: `side` is sorted by name.
  static Candidate* find(std::vector<Candidate>& side, std::string_view key) {
    const auto it =
        std::lower_bound(side.begin(), side.end(), key,
                         [](const Candidate& c, std::string_view k) { return c.key < k; });
    return it != side.end() && it->key == key ? &*it : nullptr;
  }

  void pair_descendants(CgroupRename& rename) {
    const std::string_view root = rename.baseline_root;
    for (auto it = find_first_below(root); it != sides_[0].end() && it->key.starts_with(root);
         ++it) {
      const std::string_view rest = it->key.substr(root.size());
      if (it->is_paired || (!rest.empty() && rest.front() != '/')) continue;
      Candidate* other = find(sides_[1], rename.candidate_root + std::string(rest));
      if (!other || other->is_paired) continue;
      it->is_paired = other->is_paired = true;
      renames_.baseline_name_of.emplace(it->key, it->key);
      renames_.baseline_name_of.emplace(other->key, it->key);
      rename.child_renames.emplace_back(it->key, other->key);
    }
  }

  std::vector<Candidate>::iterator find_first_below(std::string_view root) {
    return std::lower_bound(sides_[0].begin(), sides_[0].end(), root,
                            [](const Candidate& c, std::string_view key) { return c.key < key; });
  }

  std::span<const KeyPresence> keys_;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> kinds_;
  std::vector<std::pair<std::string_view, std::string_view>> names_;  // by kind
  std::array<std::vector<Candidate>, 2> sides_;
  CgroupRenames renames_;
};

}  // namespace

CgroupRenames find_cgroup_renames(std::span<const KeyPresence> keys) {
  return RenameFinder(keys).find();
}

}  // namespace ctprof
