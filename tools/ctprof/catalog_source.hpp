// Where metric-list and help take metrics from: the plugins, or a file that the user names.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "core/registry/registry.hpp"
#include "core/render/metric_catalog.hpp"
#include "tools/ctprof/options.hpp"
#include "tools/ctprof/report_files.hpp"

namespace ctprof::cli {

class CatalogSource {
 public:
  // REQUIRES: one file or none. Fails where the file cannot be read, or no plugin can be loaded.
  static Result<CatalogSource> open(const Options& options, std::span<const std::string> file);

  // Refers to this object.
  MetricCatalog catalog() const;

 private:
  CatalogSource() = default;

  std::optional<ReportFiles> file_;
  std::optional<Registry> plugins_;
};

}  // namespace ctprof::cli
