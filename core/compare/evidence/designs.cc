#include "core/compare/evidence/designs.hpp"

#include <algorithm>
#include <map>

namespace ctprof {
namespace {

using RunsByPair = std::map<std::uint64_t, std::size_t>;

// Maps pair numbers to the side's runs. Returns no value if a run has no pair, a pair of another
// seed, or the same pair as another run.
std::optional<RunsByPair> map_runs_by_pair(std::span<const RunFacts> runs, const SideRuns& side,
                                           std::uint64_t seed) {
  RunsByPair found;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    const auto& pair = runs[run].meta.pair;
    if (!pair || pair->seed != seed || !found.emplace(pair->number, run).second)
      return std::nullopt;
  }
  return found;
}

std::vector<std::size_t> runs_in_pair_order(const RunsByPair& one, const RunsByPair& other) {
  std::vector<std::size_t> runs;
  for (const RunsByPair* side : {&one, &other})
    for (const auto& [pair, run] : *side) runs.push_back(run);
  return runs;
}

// Removes the pairs that the other side lacks.
void remove_unmatched_pairs(RunsByPair& one, const RunsByPair& other) {
  std::erase_if(one, [&](const auto& pair) { return !other.contains(pair.first); });
}

bool is_excluded_from_test(std::span<const RunFacts> runs, const SideRuns& side) {
  return std::ranges::any_of(runs.subspan(side.first, side.count), [](const RunFacts& run) {
    return run.meta.span_part == SpanPart::Untested;
  });
}

std::optional<SideDesign> find_design(std::span<const RunFacts> runs, const SideRuns& baseline,
                                      const SideRuns& candidate) {
  if (baseline.count < 2 || candidate.count < 2) return std::nullopt;
  if (is_excluded_from_test(runs, baseline) || is_excluded_from_test(runs, candidate))
    return std::nullopt;
  SideDesign plain{{baseline.count, candidate.count, false}, {}, false};
  for (const SideRuns& side : {baseline, candidate})
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      plain.runs.push_back(run);
  plain.are_blocks = runs[baseline.first].meta.span_part == SpanPart::Block;
  const auto& first = runs[baseline.first].meta.pair;
  if (!first) return plain;
  auto one = map_runs_by_pair(runs, baseline, first->seed);
  auto other = map_runs_by_pair(runs, candidate, first->seed);
  if (!one || !other) return plain;
  remove_unmatched_pairs(*one, *other);
  remove_unmatched_pairs(*other, *one);
  if (one->size() < 2) return plain;
  return SideDesign{{one->size(), other->size(), true}, runs_in_pair_order(*one, *other), false};
}

}  // namespace

std::vector<std::optional<SideDesign>> find_designs(std::span<const RunFacts> runs,
                                                    std::span<const SideRuns> sides) {
  std::vector<std::optional<SideDesign>> designs;
  for (const SideRuns& side : sides.subspan(1))
    designs.push_back(find_design(runs, sides.front(), side));
  return designs;
}

bool has_testable_side(std::span<const SideRuns> sides) {
  return sides.front().count > 1 &&
         std::ranges::any_of(sides.subspan(1), [](const SideRuns& side) { return side.count > 1; });
}

bool are_separate_in_time(std::span<const RunFacts> one, std::span<const RunFacts> other) {
  const auto start_time = [](const RunFacts& run) { return run.meta.start.wall_unix_ns; };
  const auto [first, last] = std::ranges::minmax(one, {}, start_time);
  const auto [other_first, other_last] = std::ranges::minmax(other, {}, start_time);
  return start_time(last) < start_time(other_first) || start_time(other_last) < start_time(first);
}

}  // namespace ctprof
