#include "core/capture/listed_rows.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

std::string find_thread_fault(const Table& threads) {
  const auto is_missing = [](ctprof_gap gap) { return gap != CTPROF_VALUE; };
  for (const std::string_view key : {kTid, kTgid})
    if (std::ranges::any_of(threads.find(key)->gaps(), is_missing))
      return "it listed a thread without a " + std::string(key);
  return {};
}

// Formats "disk.device 'sda'" for each identity column.
std::string describe_identity(std::span<const Column* const> columns,
                              std::span<const std::string> identity) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i)
    text += (i ? ", " : "") + columns[i]->def().name + " '" + identity[i] + "'";
  return text;
}

std::string find_identity_fault(const Table& table, const Pools& pools) {
  const auto columns = identity_columns(table);
  std::set<std::vector<std::string>> known;
  for (std::size_t row = 0; row < table.rows; ++row) {
    for (const Column* column : columns)
      if (!column->has_value(row)) return "it listed a row without '" + column->def().name + "'";
    std::vector<std::string> identity = identity_of_row(columns, row, pools);
    const std::string description = describe_identity(columns, identity);
    if (!known.insert(std::move(identity)).second) return "it listed two rows with " + description;
  }
  return {};
}

}  // namespace

std::string find_listing_fault(ctprof_stage stage, const Table& table, const Pools& pools) {
  return stage == CTPROF_STAGE_ENTITY_LIST ? find_identity_fault(table, pools)
                                           : find_thread_fault(table);
}

}  // namespace ctprof
