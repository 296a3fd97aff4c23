// Parses the registry of a columns file, and caches the last one.
//
// Runs of the same host, and hosts of the same fleet, have exactly the same registry, and parsing
// it takes a large part of the time for a small file. Threads: any.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// The parsed contents of a registry.
struct Definitions {
  std::vector<std::pair<SharedMetric, Provenance>> metrics;
  std::vector<DerivedDef> derived;
  UnknownDefinitions unknown;
};

// Parses a registry from JSON without blanks. The error continues a message about the line that
// contains it.
Result<std::shared_ptr<const Definitions>> load_definitions(const std::string& text);

// Returns the members of a header line. Does not parse the registry again if it is the cached one.
Result<KeptMembers> parse_header(std::string_view line);

}  // namespace ctprof::columns
