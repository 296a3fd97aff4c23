#include "core/compare/grouping/cgroup_renames.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>

namespace ctprof {
namespace {

constexpr std::size_t kLeastInCommon = 10;
// The minimum ratio of shared kinds to all kinds of two similar cgroups: kMinShareNumerator /
// kMinShareDenominator.
constexpr std::size_t kAlike = 9, kOutOf = 10;

// Limits the work of comparing pairs, counted in kinds. Ten thousand real cgroups produce a few
// thousand pairs with a few dozen kinds each.
constexpr std::size_t kMostKinds = 16'000'000;

using Kinds = std::vector<std::uint32_t>;

// A cgroup that exists on only one side.
struct Candidate {
  std::string_view key;
  Kinds kinds;  // ascending
  bool paired = false;
};

struct Likeness {
  std::uint32_t baseline, candidate;  // indices
  std::size_t in_common, in_all;
};

// Returns both names in an order that does not depend on the sides.
std::pair<std::string_view, std::string_view> names_of(
    const Likeness& like, const std::array<std::vector<Candidate>, 2>& sides) {
  const std::string_view a = sides[0][like.baseline].key, b = sides[1][like.candidate].key;
  return {std::min(a, b), std::max(a, b)};
}

// Returns the paths without their common end.
std::pair<std::string_view, std::string_view> roots_of(std::string_view a, std::string_view b) {
  while (true) {
    const auto x = a.rfind('/'), y = b.rfind('/');
    if (x == a.npos || y == b.npos || a.substr(x) != b.substr(y)) break;
    a = a.substr(0, x);
    b = b.substr(0, y);
  }
  return {a == "/" ? "" : a, b == "/" ? "" : b};
}

class Finder {
 public:
  explicit Finder(std::span<const SidedKey> keys) : keys_(keys) {
    for (std::size_t begin = 0; begin < keys.size();) {
      std::size_t end = begin;
      while (end < keys.size() && keys[end].cgroup == keys[begin].cgroup) ++end;
      take(begin, end);
      begin = end;
    }
  }

  CgroupRenames find() {
    std::vector<Likeness> left_over;
    pair_identical(left_over);
    for (const Likeness& like : all_alike()) {
      const Candidate &a = sides_[0][like.baseline], &b = sides_[1][like.candidate];
      if (a.paired || b.paired)
        left_over.push_back(like);
      else
        pair(like, std::string(a.key));
    }
    sort(left_over);
    for (const Likeness& like : left_over) {
      const Candidate &a = sides_[0][like.baseline], &b = sides_[1][like.candidate];
      if (a.paired != b.paired) pair(like, renames_.name_of.find(a.paired ? a.key : b.key)->second);
    }
    for (CgroupRename& rename : renames_.found) pair_below(rename);
    for (const CgroupRename& rename : renames_.found) {
      renames_.after.emplace(rename.baseline, rename.candidate);
      renames_.after.insert(rename.below.begin(), rename.below.end());
    }
    return std::move(renames_);
  }

 private:
  // Adds the keys of one cgroup, unless its name is empty.
  void take(std::size_t begin, std::size_t end) {
    std::array<Candidate, 2> of{Candidate{keys_[begin].cgroup, {}},
                                Candidate{keys_[begin].cgroup, {}}};
    for (std::size_t i = begin; i < end; ++i) {
      const std::pair names{keys_[i].pcomm, keys_[i].comm};
      const auto [known, is_new] =
          kinds_.try_emplace(names, static_cast<std::uint32_t>(kinds_.size()));
      if (is_new) names_.push_back(names);
      const auto kind = known->second;
      if (keys_[i].on_baseline) of[0].kinds.push_back(kind);
      if (keys_[i].on_candidate) of[1].kinds.push_back(kind);
    }
    if (keys_[begin].cgroup.empty() || of[0].kinds.empty() == of[1].kinds.empty()) return;
    const std::size_t side = of[0].kinds.empty() ? 1 : 0;
    std::sort(of[side].kinds.begin(), of[side].kinds.end());
    sides_[side].push_back(std::move(of[side]));
  }

  // There can be many replicas with identical kinds. Pairs the first cgroups of both sides, then
  // the second ones and so on, which gives the same result as comparing all pairs. Surplus cgroups
  // of one side are paired with the first cgroup of the other side.
  void pair_identical(std::vector<Likeness>& left_over) {
    std::map<Kinds, std::array<std::vector<std::uint32_t>, 2>> having;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::uint32_t i = 0; i < sides_[side].size(); ++i)
        having[sides_[side][i].kinds][side].push_back(i);
    std::vector<Likeness> found;
    for (const auto& [kinds, of] : having) {
      if (kinds.size() < kLeastInCommon || of[0].empty() || of[1].empty()) continue;
      const std::size_t both = std::min(of[0].size(), of[1].size());
      for (std::size_t i = 0; i < std::max(of[0].size(), of[1].size()); ++i) {
        const std::uint32_t a = i < of[0].size() ? of[0][i] : of[0][0],
                            b = i < of[1].size() ? of[1][i] : of[1][0];
        (i < both ? found : left_over).push_back({a, b, kinds.size(), kinds.size()});
      }
    }
    sort(found);
    for (const Likeness& like : found) pair(like, std::string(sides_[0][like.baseline].key));
  }

  // Returns pairs that are similar but not identical, of which at least one cgroup is unpaired.
  std::vector<Likeness> all_alike() {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> having,
        free;  // kind -> candidates
    for (std::uint32_t i = 0; i < sides_[1].size(); ++i)
      for (const std::uint32_t kind : telling(sides_[1][i].kinds)) {
        having[kind].push_back(i);
        if (!sides_[1][i].paired) free[kind].push_back(i);
      }
    std::vector<Likeness> found;
    std::size_t looked_at = 0;
    for (std::uint32_t i = 0; i < sides_[0].size() && !(renames_.is_cut = looked_at > kMostKinds);
         ++i) {
      const auto& others = sides_[0][i].paired ? free : having;
      std::set<std::uint32_t> met;
      for (const std::uint32_t kind : telling(sides_[0][i].kinds))
        if (const auto it = others.find(kind); it != others.end())
          met.insert(it->second.begin(), it->second.end());
      for (const std::uint32_t other : met) {
        add_if_alike(found, i, other);
        looked_at += sides_[0][i].kinds.size() + sides_[1][other].kinds.size();
      }
    }
    sort(found);
    return found;
  }

  // Sorts the most similar pairs first, and equally similar pairs by name.
  void sort(std::vector<Likeness>& likenesses) const {
    std::sort(likenesses.begin(), likenesses.end(),
              [&](const Likeness& a, const Likeness& b) { return before(a, b); });
  }

  // Returns the first kinds of a set, enough that any two similar sets have one of them in common.
  static std::span<const std::uint32_t> telling(const Kinds& kinds) {
    if (kinds.size() < kLeastInCommon) return {};
    const std::size_t most_left = (kAlike * kinds.size() + kOutOf - 1) / kOutOf - 1;
    return std::span(kinds).first(kinds.size() - most_left);
  }

  void add_if_alike(std::vector<Likeness>& found, std::uint32_t a, std::uint32_t b) const {
    const Kinds &x = sides_[0][a].kinds, &y = sides_[1][b].kinds;
    Kinds both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    const std::size_t in_all = x.size() + y.size() - both.size();
    const bool alike = both.size() >= kLeastInCommon && kOutOf * both.size() >= kAlike * in_all;
    if (alike && both.size() < in_all) found.push_back({a, b, both.size(), in_all});
  }

  bool before(const Likeness& a, const Likeness& b) const {
    const std::size_t x = a.in_common * b.in_all, y = b.in_common * a.in_all;
    if (x != y) return x > y;
    if (a.in_common != b.in_common) return a.in_common > b.in_common;
    return names_of(a, sides_) < names_of(b, sides_);
  }

  void pair(const Likeness& like, std::string name) {
    Candidate &a = sides_[0][like.baseline], &b = sides_[1][like.candidate];
    a.paired = b.paired = true;
    renames_.name_of.emplace(a.key, name);
    renames_.name_of.emplace(b.key, std::move(name));
    CgroupRename& rename = renames_.found.emplace_back();
    rename.baseline = a.key;
    rename.candidate = b.key;
    std::tie(rename.baseline_root, rename.candidate_root) = roots_of(a.key, b.key);
    rename.in_common = static_cast<std::uint32_t>(like.in_common);
    rename.in_all = static_cast<std::uint32_t>(like.in_all);
    rename.only_baseline = beyond(a.kinds, b.kinds);
    rename.only_candidate = beyond(b.kinds, a.kinds);
  }

  // Returns the kinds that only the first set contains, ordered by name.
  std::vector<ThreadKind> beyond(const Kinds& kinds, const Kinds& others) const {
    Kinds alone;
    std::set_difference(kinds.begin(), kinds.end(), others.begin(), others.end(),
                        std::back_inserter(alone));
    std::set<std::pair<std::string_view, std::string_view>> names;
    for (const std::uint32_t kind : alone) names.insert(names_[kind]);
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

  void pair_below(CgroupRename& rename) {
    const std::string_view root = rename.baseline_root;
    for (auto it = first_from(root); it != sides_[0].end() && it->key.starts_with(root); ++it) {
      const std::string_view rest = it->key.substr(root.size());
      if (it->paired || (!rest.empty() && rest.front() != '/')) continue;
      Candidate* other = find(sides_[1], rename.candidate_root + std::string(rest));
      if (!other || other->paired) continue;
      it->paired = other->paired = true;
      renames_.name_of.emplace(it->key, it->key);
      renames_.name_of.emplace(other->key, it->key);
      rename.below.emplace_back(it->key, other->key);
    }
  }

  std::vector<Candidate>::iterator first_from(std::string_view root) {
    return std::lower_bound(sides_[0].begin(), sides_[0].end(), root,
                            [](const Candidate& c, std::string_view key) { return c.key < key; });
  }

  std::span<const SidedKey> keys_;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> kinds_;
  std::vector<std::pair<std::string_view, std::string_view>> names_;  // by kind
  std::array<std::vector<Candidate>, 2> sides_;
  CgroupRenames renames_;
};

}  // namespace

CgroupRenames find_cgroup_renames(std::span<const SidedKey> keys) { return Finder(keys).find(); }

}  // namespace ctprof
