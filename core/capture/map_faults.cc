#include "core/capture/map_faults.hpp"

#include "core/base/text.hpp"
#include "core/registry/map_labels.hpp"
#include "ctprof/abi.h"

namespace ctprof {
namespace {

constexpr std::size_t kShownKeyBytes = 64;  // bytes of a key in a message

}  // namespace

bool is_valid_map_key(const MetricDef& def, std::string_view key) {
  return key.size() <= CTPROF_MAX_KEY_BYTES && is_key_of_labels(def.labels, key);
}

void MapFaults::Fault::add(std::uint64_t more, Example found) {
  if (more == 0) return;
  if (count == 0 || found < example) example = std::move(found);
  count += more;
}

void MapFaults::count_malformed_map(const MetricDef& def, std::string_view key) {
  malformed_.add(1, {def.name, std::string(key.substr(0, kShownKeyBytes))});
}

void MapFaults::count_dropped_keys(const MetricDef& def, std::uint64_t keys) {
  dropped_.add(keys, {def.name, {}});
}

void MapFaults::add(const MapFaults& other) {
  malformed_.add(other.malformed_.count, other.malformed_.example);
  dropped_.add(other.dropped_.count, other.dropped_.example);
}

std::vector<std::string> MapFaults::describe() const {
  std::vector<std::string> faults;
  if (malformed_.count > 0)
    faults.push_back("discarded " + format_count(malformed_.count, "map") +
                     " with a malformed key: " + quote(malformed_.example.first) + ": key " +
                     quote(malformed_.example.second));
  if (dropped_.count > 0)
    faults.push_back("discarded " + format_count(dropped_.count, "map key") + ": " +
                     quote(dropped_.example.first) + ": more than " +
                     std::to_string(CTPROF_MAX_MAP_KEYS) + " keys in one cell");
  return faults;
}

}  // namespace ctprof
