// The paths under which the cells of unknown columns are kept. A lookup takes the same time however
// many metrics the header defines.
//
// Threads: any number may look up paths concurrently.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {

class UnknownPaths {
 public:
  // REQUIRES: `definitions` does not change while this object exists.
  explicit UnknownPaths(const UnknownDefinitions& definitions) {
    for (const UnknownMetric& metric : definitions.metrics)
      if (metric.entity)
        paths_[static_cast<std::size_t>(*metric.entity)].emplace(metric.name, metric.path);
  }

  // Returns the path of an unknown metric, or the name of a column that the header does not define.
  std::string find_path(Entity entity, const std::string& column) const {
    const auto& paths = paths_[static_cast<std::size_t>(entity)];
    const auto found = paths.find(column);
    return found == paths.end() ? column : std::string(found->second);
  }

 private:
  std::array<std::unordered_map<std::string_view, std::string_view, SeededHash>, kEntities> paths_;
};

}  // namespace ctprof::columns
