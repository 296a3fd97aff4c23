#include "tools/ctprof/plugin/value_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/text.hpp"
#include "core/registry/identity.hpp"
#include "core/rules/maps.hpp"

namespace ctprof::cli {
namespace {

// 100 percent in hundredths, the unit of a GaugeRatio100.
constexpr std::uint64_t kHundredPercent = 10'000;
// A time beyond ten years is not one of a thread or a process: it has another unit, or is a date.
constexpr std::uint64_t kTenYearsNs = 10 * 365ULL * 24 * 3600 * 1'000'000'000;

bool is_filled_by(const Column& column, const Plugin& plugin) {
  return column.provenance.plugin == plugin.name;
}

bool is_too_long(const MetricDef& def, std::uint64_t value) {
  const bool is_time = def.newtype == "MonotonicNs" || def.newtype == "PeakNs";
  return is_time && (def.entity == Entity::Thread || def.entity == Entity::Process) &&
         value > kTenYearsNs;
}

// Returns why a value is invalid for its newtype, or "".
std::string explain_invalid_value(const Column& column, std::uint32_t row) {
  const MetricDef& def = column.def();
  if (def.storage == Storage::F64 && !std::isfinite(column.f64()[row])) return "is not a number";
  if (def.storage == Storage::F64 && column.f64()[row] < 0 && def.newtype != "GaugeF64")
    return "is below zero";
  if (def.storage != Storage::U64) return "";
  const std::uint64_t value = column.u64()[row];
  if (def.newtype == "GaugeRatio100" && value > kHundredPercent) return "is above 100 percent";
  const bool is_amount =
      def.family != "limit" && def.family != "identity" && !def.newtype.starts_with("Ordinal");
  if (is_amount && value > INT64_MAX) return "is a negative number, stored as unsigned";
  if (is_too_long(def, value))
    return "is longer than ten years: its unit is not ns, or it is a date";
  return "";
}

void check_values(const Column& column, Findings& findings) {
  for (std::uint32_t row = 0; row < column.rows(); ++row)
    if (const std::string why = column.has_value(row) ? explain_invalid_value(column, row) : "";
        !why.empty())
      return findings.fault("a value of '" + column.def().name + "' " + why);
}

// Returns a key for each row that is the same in each capture: the id of the thread or process, the
// identity of a row of an entity of a plugin, otherwise the row number.
std::vector<std::string> row_keys(const Snapshot& snapshot, Entity entity) {
  const Table& table = snapshot.table(entity);
  std::vector<std::string> keys;
  const Column* id = table.find_u64(entity == Entity::Thread ? kTid : kProcessTgid);
  const auto columns =
      is_of_plugin(entity) ? identity_columns(table) : std::vector<const Column*>();
  for (std::size_t row = 0; row < table.rows; ++row)
    keys.push_back(columns.empty() ? std::to_string(id ? id->u64()[row] : row)
                                   : join_texts(identity_of_row(columns, row, *snapshot.pools)));
  return keys;
}

// A cell of the earlier or the later capture.
struct Cell {
  const Column& column;
  const Snapshot& snapshot;
  std::uint32_t row;
  std::uint64_t number() const { return column.u64()[row]; }
  std::span<const std::uint64_t> words() const { return snapshot.pools->words[column.ids()[row]]; }
  std::span<const ctprof_entry> entries() const { return snapshot.pools->maps[column.ids()[row]]; }
};

bool any_element_fell(const Cell& before, const Cell& after) {
  const auto earlier = before.words(), later = after.words();
  for (std::size_t i = 0; i < earlier.size(); ++i)
    if ((i < later.size() ? later[i] : 0) < earlier[i]) return true;
  return false;
}

bool any_key_fell(const Cell& before, const Cell& after) {
  std::map<std::string_view, std::uint64_t> earlier;
  for (const ctprof_entry& entry : before.entries())
    earlier.emplace(std::string_view(entry.key.data, entry.key.size), entry.value);
  for (const ctprof_entry& entry : after.entries()) {
    const std::string_view key(entry.key.data, entry.key.size);
    const auto known = earlier.find(key);
    if (known != earlier.end() && entry.value < known->second &&
        !rules::find_key_kind(after.column.def().map_keys, key).is_gauge)
      return true;
  }
  return false;
}

// Returns what went backwards, or "".
std::string explain_fall(const Cell& before, const Cell& after) {
  const MetricDef& def = after.column.def();
  const std::string name = "'" + def.name + "'";
  const bool is_counter = def.family == "cumulative";
  if (def.storage == Storage::U64 && after.number() < before.number()) {
    if (is_counter) return "counter " + name + " went backwards";
    if (def.family == "peak") return "peak " + name + " fell, but it is the largest value so far";
  }
  if (is_counter && def.storage == Storage::Array && any_element_fell(before, after))
    return "a bucket of histogram " + name + " went backwards";
  if (is_counter && def.storage == Storage::Map && any_key_fell(before, after))
    return "a key of map " + name + " went backwards";
  return "";
}

void check_counter(const Snapshot& before, const Snapshot& after, const Column& later,
                   Findings& findings) {
  const MetricDef& def = later.def();
  const Column* earlier = before.table(def.entity).find(def.name);
  if (!earlier || earlier->def().storage != def.storage) return;
  std::unordered_map<std::string, std::uint32_t> row_of;
  for (const std::string& key : row_keys(before, def.entity))
    row_of.emplace(key, static_cast<std::uint32_t>(row_of.size()));
  const auto keys = row_keys(after, def.entity);
  for (std::uint32_t now = 0; now < keys.size(); ++now) {
    const auto known_row = row_of.find(keys[now]);
    if (known_row == row_of.end()) continue;
    if (!later.has_value(now) || !earlier->has_value(known_row->second)) continue;
    const std::string fault =
        explain_fall({*earlier, before, known_row->second}, {later, after, now});
    if (!fault.empty()) return findings.fault(fault);
  }
}

}  // namespace

void check_tables(const Snapshot& before, const Snapshot& after, const Plugin& plugin,
                  Findings& findings) {
  for (const Table& table : after.tables)
    for (const Column& column : table.columns) {
      if (!is_filled_by(column, plugin)) continue;
      check_values(column, findings);
      check_counter(before, after, column, findings);
    }
}

}  // namespace ctprof::cli
