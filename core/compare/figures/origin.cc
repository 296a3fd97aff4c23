#include "core/compare/figures/origin.hpp"

namespace ctprof {

std::optional<Origin> Origins::of(std::uint32_t group, std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!lives_->known() || planned.entity != Entity::Thread || !planned.is_sum) return {};
  const auto before = split(0, group, planned), after = split(1, group, planned);
  if (!before || !after) return {};
  const auto between = [](std::uint64_t a, std::uint64_t b) {
    return difference(number_of(a), number_of(b));
  };
  return Origin{between(before->stays, after->stays), between(0, after->turns),
                between(before->turns, 0)};
}

std::optional<Origins::Split> Origins::split(std::size_t side, std::uint32_t group,
                                             const PlannedMetric& metric) const {
  const Column* column = metric.columns[side];
  if (!column && !metric.counts_rows) return {};
  Split split;
  std::uint64_t total = 0;
  bool any = false;
  for (const std::uint32_t row : (*members_)[side].of(group)) {
    if (column && !column->has_value(row)) continue;
    const std::uint64_t value = column ? column->u64()[row] : 1;
    const Life life = lives_->of(side, row);
    if (life == Life::Unknown || __builtin_add_overflow(total, value, &total)) return {};
    (life == Life::Stays ? split.stays : split.turns) += value;
    any = true;
  }
  return any ? std::optional(split) : std::nullopt;
}

}  // namespace ctprof
