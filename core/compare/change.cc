#include "core/compare/change.hpp"

#include <limits>

#include "core/rules/builtin.hpp"

namespace ctprof {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void append(void* out, const char* data, std::size_t size) { static_cast<std::string*>(out)->append(data, size); }

Moved moved_by(const Difference& difference, std::string_view word) {
  const bool differs = difference.known() ? !difference.zero() : word != rules::kSame;
  return differs || word == rules::kDiffers ? Moved::Yes : Moved::No;
}

PartChange part_change(const Part* baseline, const Part* candidate) {
  const Part& any = baseline ? *baseline : *candidate;
  PartChange change{any.key, any.unit, no_number(), no_number(), {}, kNone};
  if (baseline) change.baseline = baseline->number;
  if (candidate) change.candidate = candidate->number;
  change.difference = difference(change.baseline, change.candidate);
  change.pct = percent_of(change.difference, change.baseline);
  return change;
}

}  // namespace

double percent_of(const Difference& difference, const ctprof_number& baseline) {
  const double of = as_double(baseline);
  return difference.known() && of != 0 ? difference.real / of : kNone;
}

Difference Changes::subtract(CellAt baseline, CellAt candidate, std::string& word) const {
  const ctprof_rule* rule = plan_->metrics[baseline.metric].rule;
  if (!rule || !rule->delta) return difference(rollup_->number(baseline), rollup_->number(candidate));
  const ctprof_sink sink{sizeof(ctprof_sink), 0, &word, append};
  return as_difference(rule->delta(rollup_->state(baseline), rollup_->state(candidate), &sink));
}

Change Changes::of(std::uint32_t group, std::size_t metric) const {
  const CellAt baseline{0, group, metric}, candidate{1, group, metric};
  const bool before = rollup_->has(baseline), after = rollup_->has(candidate);
  if (!before || !after) return {before || after ? Moved::OneSide : Moved::Nowhere, {}, {}, kNone};
  Change change;
  change.difference = subtract(baseline, candidate, change.word);
  change.moved = moved_by(change.difference, change.word);
  // A ratio's difference is read in its own terms; a percentage of it would be taken for one.
  const bool is_ratio = plan_->metrics[metric].unit == "ratio";
  change.pct = is_ratio ? kNone : percent_of(change.difference, rollup_->number(baseline));
  return change;
}

std::vector<PartChange> Changes::parts(std::uint32_t group, std::size_t metric) const {
  std::vector<Part> sides[2];
  for (std::size_t side = 0; side < 2; ++side)
    rollup_->parts({side, group, metric}, [&](const Part& part) { sides[side].push_back(part); });
  std::vector<PartChange> changes;
  auto a = sides[0].begin(), b = sides[1].begin();
  while (a != sides[0].end() || b != sides[1].end()) {
    const bool before = b == sides[1].end() || (a != sides[0].end() && a->key <= b->key);
    const bool after = a == sides[0].end() || (b != sides[1].end() && b->key <= a->key);
    changes.push_back(part_change(before ? &*a : nullptr, after ? &*b : nullptr));
    a += before ? 1 : 0;
    b += after ? 1 : 0;
  }
  return changes;
}

}  // namespace ctprof
