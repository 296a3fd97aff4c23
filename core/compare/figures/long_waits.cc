#include "core/compare/figures/long_waits.hpp"

#include <cstdint>

#include "core/compare/figures/run_facts.hpp"
#include "core/window/accounting.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

constexpr double kLongShare = 0.5;
constexpr std::uint64_t kMaxLongWaits = 3;

}  // namespace

LongWaits::LongWaits(const Snapshot& window)
    : window_(&window), switches_(find_role(window.threads().columns, "voluntary-switches")) {}

bool LongWaits::has_few_waits(std::size_t row) const {
  return switches_ && switches_->has_value(row) && switches_->u64()[row] <= kMaxLongWaits;
}

std::optional<double> LongWaits::min_weight_ns(const Column& stacks) const {
  if (!window_->window || stacks.def().unit != "ns") return std::nullopt;
  const auto covered = covered_ns(*window_, stacks);
  const double time = covered ? static_cast<double>(*covered) : rates_over_ns(*window_);
  return time > 0 ? std::optional(kLongShare * time) : std::nullopt;
}

}  // namespace ctprof
