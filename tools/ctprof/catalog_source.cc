#include "tools/ctprof/catalog_source.hpp"

#include <utility>

#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

Result<CatalogSource> CatalogSource::open(const Options& options,
                                          std::span<const std::string> file) {
  CatalogSource source;
  if (file.empty()) {
    auto registry = load_metrics(options);
    if (!registry) return registry.error();
    source.plugins_.emplace(std::move(*registry));
  } else {
    auto loaded = ReportFiles::load(file.first(1), options);
    if (!loaded) return loaded.error();
    source.file_.emplace(std::move(*loaded));
  }
  return source;
}

MetricCatalog CatalogSource::catalog() const {
  return file_ ? MetricCatalog::of(file_->snapshots().front(), *file_->knowledge().rules)
               : MetricCatalog::of(*plugins_);
}

}  // namespace ctprof::cli
