#include "core/registry/tags.hpp"

#include <string_view>

#include "core/base/split.hpp"

namespace ctprof {
namespace {

std::vector<std::string> tags(const std::string& sched_class, bool dead, std::string_view gates) {
  constexpr std::string_view kConfig = "CONFIG_";
  std::vector<std::string> tags;
  if (!sched_class.empty()) tags.push_back(sched_class);
  if (dead) tags.emplace_back("dead");
  for (std::string_view gate : split(gates)) {
    if (gate.starts_with(kConfig)) gate.remove_prefix(kConfig.size());
    if (!gate.empty()) tags.emplace_back(gate);
  }
  return tags;
}

}  // namespace

std::vector<std::string> tags_of(const MetricDef& def) {
  return tags(def.sched_class, def.rule == "Dead", def.config_gates);
}
std::vector<std::string> tags_of(const DerivedDef& def) {
  return tags(def.sched_class, false, def.config_gates);
}

}  // namespace ctprof
