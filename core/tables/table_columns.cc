#include "core/tables/table_columns.hpp"

#include <algorithm>

#include "core/expression/expression_parser.hpp"
#include "core/registry/map_labels.hpp"
#include "core/registry/missing_metric.hpp"
#include "core/rules/histograms.hpp"

namespace ctprof {
namespace {

bool is_identity(const MetricDef& def) { return def.family == "identity"; }

bool is_exportable(const MetricDef& def) {
  return !def.is_hidden && !def.is_mark && def.newtype != "DeadCounter";
}

bool is_same_definition(const TableColumn& column, const MetricDef& def) {
  const Storage storage = column.part.empty() ? column.storage : Storage::Array;
  return storage == def.storage && column.unit == def.unit;
}

void add_histogram_parts(const MetricDef& def, std::vector<TableColumn>& columns) {
  for (const rules::HistogramPart& part : rules::histogram_parts({}))
    columns.push_back({.name = format_key_name(def.name, part.name),
                       .storage = Storage::U64,
                       .unit = def.unit,
                       .metric = def.name,
                       .part = part.name});
}

}  // namespace

bool TableColumns::is_selected(const MetricDef& def) const {
  return is_exportable(def) &&
         (selected_.empty() || is_identity(def) || std::ranges::count(selected_, def.name) > 0);
}

void TableColumns::add(const MetricDef& def) {
  auto& columns = columns_[static_cast<std::size_t>(def.entity)];
  const auto known = std::ranges::find(columns, def.name, &TableColumn::name);
  if (known == columns.end()) {
    columns.push_back(
        {.name = def.name, .storage = def.storage, .unit = def.unit, .labels = def.labels});
    if (is_histogram(def)) add_histogram_parts(def, columns);
    return;
  }
  if (is_same_definition(*known, def)) return;
  const std::string note =
      "captures define '" + def.name +
      "' differently: only values with the definition of the first capture are exported";
  if (std::ranges::count(notes_, note) == 0) notes_.push_back(note);
}

void TableColumns::add(const Snapshot& capture) {
  for (const Table& table : capture.tables)
    for (const Column& column : table.columns) {
      if (is_exportable(column.def())) names_.insert(column.def().name);
      if (is_selected(column.def())) add(column.def());
    }
}

std::vector<std::string> TableColumns::get_labels(std::span<const Entity> entities) const {
  std::set<std::string> labels;
  for (const Entity entity : entities)
    for (const TableColumn& column : get_columns(entity))
      for (const std::string_view label : label_names(column.labels)) labels.emplace(label);
  return {labels.begin(), labels.end()};
}

std::vector<const Column*> TableColumns::find_columns(const Snapshot& capture,
                                                      Entity entity) const {
  std::vector<const Column*> columns;
  for (const TableColumn& table_column : get_columns(entity)) {
    const Column* column = capture.table(entity).find(table_column.metric);
    columns.push_back(column && is_same_definition(table_column, column->def()) ? column : nullptr);
  }
  return columns;
}

Result<void> TableColumns::check_selected() const {
  for (const std::string& name : selected_)
    if (names_.count(name) == 0)
      return Error{describe_missing_metric(name, std::vector(names_.begin(), names_.end()))};
  return {};
}

}  // namespace ctprof
