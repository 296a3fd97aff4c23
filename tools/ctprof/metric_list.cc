// ctprof metric-list: every metric that the loaded plugins offer, or that one file holds.

#include "core/render/metric_list.hpp"

#include "tools/ctprof/catalog_source.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

int run_metric_list(const Options& options) {
  const auto source = CatalogSource::open(options, options.arguments);
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  if (options.format == Format::Json) return print(metric_list_json(catalog));
  return print(metric_list_text(
      catalog, {terminal_width() > 0 ? terminal_width() : 100, use_color(options)}));
}

}  // namespace ctprof::cli
