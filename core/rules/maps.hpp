// The keys of a map in the definition of a metric: which keys are gauges, and the unit of each key.
//
// Example of a definition: "gauge bytes: anon file; counter ns: X_*". A trailing * matches any
// text. A key that is not listed is a counter in the metric's unit.

#pragma once

#include <string_view>

namespace ctprof::rules {

struct KeyKind {
  bool is_gauge = false;
  std::string_view unit;  // points into the definition; empty: the metric's unit
};

KeyKind find_key_kind(std::string_view map_keys, std::string_view key);

}  // namespace ctprof::rules
