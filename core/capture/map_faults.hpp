// Counts what a source put into maps that ctprof does not store: maps with a malformed key, and
// keys beyond the limit.
//
// Threads: one object per worker; add() combines them. The result is independent of the order.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

// Returns whether ctprof stores this key in a map of the metric.
bool is_valid_map_key(const MetricDef& def, std::string_view key);

class MapFaults {
 public:
  void count_malformed_map(const MetricDef& def, std::string_view key);
  void count_dropped_keys(const MetricDef& def, std::uint64_t keys);
  void add(const MapFaults& other);

  // Returns a sentence for each kind of fault, with the first metric and key by name.
  std::vector<std::string> describe() const;

 private:
  using Example = std::pair<std::string, std::string>;  // a metric and a key
  struct Fault {
    std::uint64_t count = 0;
    Example example{};
    void add(std::uint64_t more, Example found);
  };
  Fault malformed_, dropped_;
};

}  // namespace ctprof
