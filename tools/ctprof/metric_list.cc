// ctprof metric-list: every metric that the loaded plugins offer, and the derived ones.

#include <algorithm>

#include "core/registry/identity.hpp"
#include "core/render/metric_list.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// Who brings a metric is who offers it, though another may have declared it.
std::string bringers(const Field& field) {
  std::string names;
  for (const Offer& offer : field.offers) names += (names.empty() ? "" : ",") + offer.plugin->name;
  return names;
}

MetricList list_of(const Registry& registry) {
  MetricList list{identity_metrics(), registry.derived()};
  for (const Field& field : registry.fields()) {
    const bool known =
        std::any_of(list.metrics.begin(), list.metrics.end(),
                    [&](const MetricDef& def) { return def.name == field.def.name; });
    if (known || field.def.hidden) continue;
    list.metrics.push_back(field.def);
    list.metrics.back().plugin = bringers(field);
  }
  return list;
}

}  // namespace

int run_metric_list(const Options& options) {
  const auto registry = load_metrics(options);
  if (!registry) return fail(registry.error());
  const MetricList list = list_of(*registry);
  if (options.format == Format::Json) return print(metric_list_json(list));
  return print(
      metric_list_text(list, {terminal_width() > 0 ? terminal_width() : 100, use_color(options)}));
}

}  // namespace ctprof::cli
