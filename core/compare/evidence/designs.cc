#include "core/compare/evidence/designs.hpp"

#include <algorithm>
#include <map>

namespace ctprof {
namespace {

using ByPair = std::map<std::uint64_t, std::size_t>;

// Maps pair numbers to the side's runs. Returns no value if a run has no pair, a pair of another
// seed, or the same pair as another run.
std::optional<ByPair> by_pair(std::span<const RunFacts> runs, const SideRuns& side,
                              std::uint64_t seed) {
  ByPair found;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    const auto& pair = runs[run].meta.pair;
    if (!pair || pair->seed != seed || !found.emplace(pair->number, run).second)
      return std::nullopt;
  }
  return found;
}

std::vector<std::size_t> in_order(const ByPair& one, const ByPair& other) {
  std::vector<std::size_t> runs;
  for (const ByPair* side : {&one, &other})
    for (const auto& [pair, run] : *side) runs.push_back(run);
  return runs;
}

// Removes the pairs that the other side lacks.
void keep_common(ByPair& one, const ByPair& other) {
  std::erase_if(one, [&](const auto& pair) { return !other.contains(pair.first); });
}

bool is_untested(std::span<const RunFacts> runs, const SideRuns& side) {
  return std::ranges::any_of(runs.subspan(side.first, side.count), [](const RunFacts& run) {
    return run.meta.span_part == SpanPart::Untested;
  });
}

std::optional<SideDesign> design_of(std::span<const RunFacts> runs, const SideRuns& baseline,
                                    const SideRuns& candidate) {
  if (baseline.count < 2 || candidate.count < 2) return std::nullopt;
  if (is_untested(runs, baseline) || is_untested(runs, candidate)) return std::nullopt;
  SideDesign plain{{baseline.count, candidate.count, false}, {}, false};
  for (const SideRuns& side : {baseline, candidate})
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      plain.runs.push_back(run);
  plain.are_blocks = runs[baseline.first].meta.span_part == SpanPart::Block;
  const auto& first = runs[baseline.first].meta.pair;
  if (!first) return plain;
  auto one = by_pair(runs, baseline, first->seed);
  auto other = by_pair(runs, candidate, first->seed);
  if (!one || !other) return plain;
  keep_common(*one, *other);
  keep_common(*other, *one);
  if (one->size() < 2) return plain;
  return SideDesign{{one->size(), other->size(), true}, in_order(*one, *other), false};
}

}  // namespace

std::vector<std::optional<SideDesign>> designs_of(std::span<const RunFacts> runs,
                                                  std::span<const SideRuns> sides) {
  std::vector<std::optional<SideDesign>> designs;
  for (const SideRuns& side : sides.subspan(1))
    designs.push_back(design_of(runs, sides.front(), side));
  return designs;
}

bool any_judged(std::span<const SideRuns> sides) {
  return sides.front().count > 1 &&
         std::ranges::any_of(sides.subspan(1), [](const SideRuns& side) { return side.count > 1; });
}

bool are_one_after_other(std::span<const RunFacts> one, std::span<const RunFacts> other) {
  const auto began = [](const RunFacts& run) { return run.meta.start.wall_unix_ns; };
  const auto [first, last] = std::ranges::minmax(one, {}, began);
  const auto [its_first, its_last] = std::ranges::minmax(other, {}, began);
  return began(last) < began(its_first) || began(its_last) < began(first);
}

}  // namespace ctprof
