#include "core/compare/grouping/cgroup_similarity.hpp"

#include <algorithm>
#include <iterator>
#include <set>
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
using CgroupsByKind = std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>;

// Returns the first kinds of a set, enough that any two similar sets have one of them in common.
std::span<const std::uint32_t> search_prefix(const Kinds& kinds) {
  if (kinds.size() < kMinCommonKinds) return {};
  const std::size_t max_missing_kinds =
      (kMinShareNumerator * kinds.size() + kMinShareDenominator - 1) / kMinShareDenominator - 1;
  return std::span(kinds).first(kinds.size() - max_missing_kinds);
}

// Returns the cgroups that have one of the kinds, ascending.
std::set<std::uint32_t> find_with_kinds(const CgroupsByKind& cgroups,
                                        std::span<const std::uint32_t> kinds) {
  std::set<std::uint32_t> found;
  for (const std::uint32_t kind : kinds)
    if (const auto it = cgroups.find(kind); it != cgroups.end())
      found.insert(it->second.begin(), it->second.end());
  return found;
}

}  // namespace

CgroupComparer::CgroupComparer(std::span<const KeyPresence> keys) {
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin;
    while (end < keys.size() && keys[end].cgroup == keys[begin].cgroup) ++end;
    add_cgroup(keys.subspan(begin, end - begin));
    begin = end;
  }
}

// Adds the keys of one cgroup, unless its name is empty.
void CgroupComparer::add_cgroup(std::span<const KeyPresence> keys) {
  const std::string_view cgroup = keys.front().cgroup;
  std::array<OneSidedCgroup, 2> by_side{OneSidedCgroup{cgroup, {}}, OneSidedCgroup{cgroup, {}}};
  for (const KeyPresence& key : keys) {
    const std::pair names{key.pcomm, key.comm};
    const auto [known, is_new] =
        kinds_.try_emplace(names, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) names_.push_back(names);
    const auto kind = known->second;
    if (key.on_baseline) by_side[0].kinds.push_back(kind);
    if (key.on_candidate) by_side[1].kinds.push_back(kind);
  }
  if (cgroup.empty() || by_side[0].kinds.empty() == by_side[1].kinds.empty()) return;
  const std::size_t side = by_side[0].kinds.empty() ? 1 : 0;
  std::sort(by_side[side].kinds.begin(), by_side[side].kinds.end());
  sides_[side].push_back(std::move(by_side[side]));
}

CgroupComparer::IdenticalCgroups CgroupComparer::find_identical() const {
  std::map<Kinds, std::array<std::vector<std::uint32_t>, 2>> cgroups_by_kinds;
  for (std::size_t side = 0; side < 2; ++side)
    for (std::uint32_t i = 0; i < sides_[side].size(); ++i)
      cgroups_by_kinds[sides_[side][i].kinds][side].push_back(i);
  IdenticalCgroups found;
  for (const auto& [kinds, by_side] : cgroups_by_kinds) {
    if (kinds.size() < kMinCommonKinds || by_side[0].empty() || by_side[1].empty()) continue;
    const std::size_t common_count = std::min(by_side[0].size(), by_side[1].size());
    for (std::size_t i = 0; i < std::max(by_side[0].size(), by_side[1].size()); ++i) {
      const std::uint32_t a = i < by_side[0].size() ? by_side[0][i] : by_side[0][0],
                          b = i < by_side[1].size() ? by_side[1][i] : by_side[1][0];
      (i < common_count ? found.pairs : found.surplus)
          .push_back({a, b, kinds.size(), kinds.size()});
    }
  }
  sort(found.pairs);
  return found;
}

CgroupComparer::SimilarCgroups CgroupComparer::find_similar() const {
  CgroupsByKind candidates_by_kind, unpaired_by_kind;
  for (std::uint32_t i = 0; i < sides_[1].size(); ++i)
    for (const std::uint32_t kind : search_prefix(sides_[1][i].kinds)) {
      candidates_by_kind[kind].push_back(i);
      if (!sides_[1][i].is_paired) unpaired_by_kind[kind].push_back(i);
    }
  SimilarCgroups found;
  std::size_t compared_kinds = 0;
  for (std::uint32_t i = 0;
       i < sides_[0].size() && !(found.is_incomplete = compared_kinds > kMaxComparedKinds); ++i) {
    const OneSidedCgroup& cgroup = sides_[0][i];
    const CgroupsByKind& others = cgroup.is_paired ? unpaired_by_kind : candidates_by_kind;
    for (const std::uint32_t other : find_with_kinds(others, search_prefix(cgroup.kinds))) {
      add_if_similar(found.pairs, i, other);
      compared_kinds += cgroup.kinds.size() + sides_[1][other].kinds.size();
    }
  }
  sort(found.pairs);
  return found;
}

void CgroupComparer::sort(std::vector<CgroupSimilarity>& similarities) const {
  std::sort(
      similarities.begin(), similarities.end(),
      [&](const CgroupSimilarity& a, const CgroupSimilarity& b) { return is_more_similar(a, b); });
}

void CgroupComparer::add_if_similar(std::vector<CgroupSimilarity>& found, std::uint32_t a,
                                    std::uint32_t b) const {
  const Kinds &x = sides_[0][a].kinds, &y = sides_[1][b].kinds;
  Kinds common;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
  const std::size_t in_all = x.size() + y.size() - common.size();
  const bool is_similar = common.size() >= kMinCommonKinds &&
                          kMinShareDenominator * common.size() >= kMinShareNumerator * in_all;
  if (is_similar && common.size() < in_all) found.push_back({a, b, common.size(), in_all});
}

bool CgroupComparer::is_more_similar(const CgroupSimilarity& a, const CgroupSimilarity& b) const {
  const std::size_t x = a.kinds_in_common * b.kinds_in_either,
                    y = b.kinds_in_common * a.kinds_in_either;
  if (x != y) return x > y;
  if (a.kinds_in_common != b.kinds_in_common) return a.kinds_in_common > b.kinds_in_common;
  return sorted_names_of(a) < sorted_names_of(b);
}

// Returns both names in an order that does not depend on the sides.
CgroupComparer::Names CgroupComparer::sorted_names_of(const CgroupSimilarity& similarity) const {
  const std::string_view a = sides_[0][similarity.baseline].key,
                         b = sides_[1][similarity.candidate].key;
  return {std::min(a, b), std::max(a, b)};
}

std::vector<ThreadKind> CgroupComparer::kinds_only_in_first(const OneSidedCgroup& first,
                                                            const OneSidedCgroup& second) const {
  Kinds first_only;
  std::set_difference(first.kinds.begin(), first.kinds.end(), second.kinds.begin(),
                      second.kinds.end(), std::back_inserter(first_only));
  std::set<Names> names;
  for (const std::uint32_t kind : first_only) names.insert(names_[kind]);
  std::vector<ThreadKind> found;
  for (const auto& [pcomm, comm] : names) found.push_back({std::string(pcomm), std::string(comm)});
  return found;
}

}  // namespace ctprof
