#include "core/registry/derived_family.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kCounts = "cumulative", kLevel = "gauge";

}  // namespace

FigureKind figure_kind(std::string_view family) {
  return family == kCounts ? FigureKind::Counter : FigureKind::Level;
}

Result<DerivedFamily> derived_family(const Expression& expression,
                                     std::span<const FigureKind> inputs,
                                     std::string_view declared) {
  const auto kind = expression.kind(inputs);
  if (!kind) return kind.error();
  if (*kind != FigureKind::Counter) return DerivedFamily::Level;
  const bool is_level = declared == kLevel && expression.subtracts();
  return is_level ? DerivedFamily::LevelOfTotals : DerivedFamily::Counter;
}

std::string_view name(DerivedFamily family) {
  return family == DerivedFamily::Counter ? kCounts : kLevel;
}

}  // namespace ctprof
