#include "core/compare/figures/change.hpp"

#include <limits>

#include "core/compare/figures/rule_states.hpp"
#include "core/rules/builtin.hpp"

namespace ctprof {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void append(void* out, const char* data, std::size_t size) {
  static_cast<std::string*>(out)->append(data, size);
}

Moved moved_by(const Difference& difference, std::string_view word) {
  const bool differs = difference.known() ? !difference.zero() : word != rules::kSame;
  return differs || word == rules::kDiffers ? Moved::Yes : Moved::No;
}

Difference subtract(const PlannedMetric& metric, const CellValue& baseline,
                    const CellValue& candidate, std::string& word) {
  const ctprof_rule* rule = metric.rule;
  if (!rule || !rule->delta) return difference(baseline.number, candidate.number);
  const ctprof_sink sink{sizeof(ctprof_sink), 0, &word, append};
  return as_difference(call_rule(metric.rule_owner, "delta", [&] {
    return rule->delta(baseline.state, candidate.state, &sink);
  }));
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

Change Changes::of(std::uint32_t group, std::size_t metric, std::size_t side) const {
  return between(rollup_->read({0, group, metric}), rollup_->read({side, group, metric}), metric);
}

Change Changes::between(const CellValue& baseline, const CellValue& candidate,
                        std::size_t metric) const {
  const bool before = baseline.has_value(), after = candidate.has_value();
  const bool alike = same_parts(baseline.made_of, candidate.made_of);
  if (!before || !after)
    return {before || after ? Moved::OneSide : Moved::Nowhere, {}, {}, kNone, alike};
  const PlannedMetric& planned = plan_->metrics[metric];
  Change change;
  change.alike = alike;
  change.difference = subtract(planned, baseline, candidate, change.word);
  change.moved = moved_by(change.difference, change.word);
  // The difference of a ratio is itself a ratio; a percentage of it would be mistaken for that.
  change.pct =
      planned.unit == "ratio" || !alike ? kNone : percent_of(change.difference, baseline.number);
  return change;
}

std::vector<PartChange> Changes::parts(std::uint32_t group, std::size_t metric,
                                       std::size_t side) const {
  std::vector<Part> baseline, candidate;
  rollup_->parts({0, group, metric}, [&](const Part& part) { baseline.push_back(part); });
  rollup_->parts({side, group, metric}, [&](const Part& part) { candidate.push_back(part); });
  std::vector<PartChange> changes;
  auto a = baseline.begin(), b = candidate.begin();
  while (a != baseline.end() || b != candidate.end()) {
    const bool before = b == candidate.end() || (a != baseline.end() && a->key <= b->key);
    const bool after = a == baseline.end() || (b != candidate.end() && b->key <= a->key);
    changes.push_back(part_change(before ? &*a : nullptr, after ? &*b : nullptr));
    a += before ? 1 : 0;
    b += after ? 1 : 0;
  }
  return changes;
}

}  // namespace ctprof
