// The registry of a file in columns, as it is read; and the one that was read last, known again.
//
// Runs of one host, and hosts of one fleet, have the same registry to the letter, and it is a good
// part of what a small file costs. So the last one is kept, with what came of it. Threads: any.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// What a registry comes to.
struct Definitions {
  std::vector<std::pair<SharedMetric, Provenance>> metrics;
  std::vector<DerivedDef> derived;
  UnknownDefinitions unknown;
};

// From its text, without blanks. The error says what is wrong with the line that it is in.
Result<std::shared_ptr<const Definitions>> definitions_of(const std::string& text);

// The members of a line that should be a header. A registry that is known is not taken apart again.
Result<KeptMembers> parse_header(std::string_view line);

}  // namespace ctprof::columns
