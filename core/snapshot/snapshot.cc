#include "core/snapshot/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "core/snapshot/file_extras.hpp"

namespace ctprof {

Snapshot::Snapshot() : pools(std::make_unique<Pools>()), extras(std::make_unique<FileExtras>()) {}
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(Snapshot&&) = default;
Snapshot& Snapshot::operator=(Snapshot&&) = default;

const Column* Table::find(std::string_view metric) const {
  const auto it = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& c) { return c.def().name == metric; });
  return it == columns.end() ? nullptr : &*it;
}

Column* Table::find(std::string_view metric) {
  return const_cast<Column*>(std::as_const(*this).find(metric));
}

const Column* Table::find_u64(std::string_view metric) const {
  const Column* column = find(metric);
  return column && column->def().storage == Storage::U64 ? column : nullptr;
}

Column& Table::add(SharedMetric def, Gap initial) {
  return columns.emplace_back(std::move(def), rows, initial);
}

void Table::keep_rows(std::span<const std::uint32_t> kept_rows) {
  if (kept_rows.size() == rows) return;
  const std::vector<RowRange> runs = find_row_ranges(kept_rows);
  for (Column& column : columns) {
    std::size_t to = 0;
    for (const RowRange& run : runs) {
      if (to != run.first) column.move_rows(to, run.first, run.count);
      to += run.count;
    }
    column.resize(to, Gap::Untouched);
  }
  rows = kept_rows.size();
}

const Column* Opening::find(std::string_view metric) const {
  const auto it = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& c) { return c.def().name == metric; });
  return it == columns.end() ? nullptr : &*it;
}

namespace {

Id copy_stacks(StackPool& pool, const StackPool& from, Id id) {
  std::vector<ctprof_stack> stacks;
  pool.add_set_to(from, id, stacks);
  return pool.append(stacks);
}

}  // namespace

std::vector<const Column*> identity_columns(const Table& table) {
  std::vector<const Column*> columns;
  for (const Column& column : table.columns)
    if (column.def().family == "identity") columns.push_back(&column);
  return columns;
}

std::vector<std::string> identity_of_row(std::span<const Column* const> columns, std::size_t row,
                                         const Pools& pools) {
  std::vector<std::string> identity;
  for (const Column* column : columns) {
    std::string& value = identity.emplace_back();
    if (!column->has_value(row)) continue;
    if (column->def().storage == Storage::String)
      value = pools.texts[column->ids()[row]];
    else if (column->def().storage == Storage::U64)
      value = std::to_string(column->u64()[row]);
  }
  return identity;
}

std::vector<DerivedDef> Snapshot::builtin_derived() const {
  std::vector<DerivedDef> found = derived;
  std::erase_if(found, [](const DerivedDef& def) { return is_of_plugin(def.entity); });
  return found;
}

void copy_cell(Column& to, std::uint32_t row, Pools& pools, const Column& from,
               std::uint32_t from_row, const Pools& from_pools) {
  to.copy_from(row, from, from_row);
  if (!is_pooled(to.def().storage) || !from.has_value(from_row)) return;
  const Id id = from.ids()[from_row];
  switch (to.def().storage) {
    case Storage::String: to.ids()[row] = pools.texts.intern(from_pools.texts[id]); return;
    case Storage::Stacks: to.ids()[row] = copy_stacks(pools.stacks, from_pools.stacks, id); return;
    case Storage::Map: to.ids()[row] = pools.maps.append(from_pools.maps[id], pools.texts); return;
    default: to.ids()[row] = pools.words.intern(from_pools.words[id]);
  }
}

}  // namespace ctprof
