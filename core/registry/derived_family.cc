#include "core/registry/derived_family.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kCumulative = "cumulative", kGauge = "gauge";

}  // namespace

FigureKind kind_of_family(std::string_view family) {
  return family == kCumulative ? FigureKind::Counter : FigureKind::Level;
}

Result<DerivedFamily> derived_family(const Expression& expression,
                                     std::span<const FigureKind> inputs,
                                     std::string_view declared) {
  CTPROF_TRY_VALUE(const auto kind, expression.kind(inputs));
  if (kind != FigureKind::Counter) return DerivedFamily::Level;
  const bool is_level = declared == kGauge && expression.has_subtraction();
  return is_level ? DerivedFamily::LevelFromTotals : DerivedFamily::Counter;
}

std::string_view name(DerivedFamily family) {
  return family == DerivedFamily::Counter ? kCumulative : kGauge;
}

}  // namespace ctprof
