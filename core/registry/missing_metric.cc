#include "core/registry/missing_metric.hpp"

#include "core/base/text.hpp"

namespace ctprof {

std::string describe_missing_metric(std::string_view name, std::span<const std::string> names) {
  constexpr std::string_view kLists =
      "; 'ctprof metric-list FILE' lists its metrics, and without FILE those that can be recorded";
  const std::string nearest = suggest_nearest(name, names);
  return "no metric '" + std::string(name) + "' in the input" +
         (nearest.empty() ? std::string(kLists) : nearest);
}

}  // namespace ctprof
