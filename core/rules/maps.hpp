// What a metric says about the keys of its map: which are gauges, and the unit of each.
//
// It is part of the metric's definition: "gauge bytes: anon file; counter ns: X_*". A trailing *
// matches anything. A key that is not named is a counter in the metric's unit.

#pragma once

#include <string_view>

namespace ctprof::rules {

struct KeyKind {
  bool gauge = false;
  std::string_view unit;  // a piece of the text; empty: the metric's
};

KeyKind kind_of_key(std::string_view map_keys, std::string_view key);

}  // namespace ctprof::rules
