#include "core/tables/table_rows.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/base/text.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/map_labels.hpp"
#include "core/tables/table_cell.hpp"

namespace ctprof {
namespace {

constexpr const char* kRaw = "raw";
constexpr const char* kLabelPrefix = "label.";

// The columns that identify a row.
struct IdColumns {
  std::string_view key, start;
};

IdColumns get_id_columns(Entity entity) {
  switch (entity) {
    case Entity::Thread: return {kTid, kStartTime};
    case Entity::Process: return {kProcessTgid, {}};
    case Entity::Cgroup: return {kCgroupPath, kCgroupId};
    case Entity::Host: return {};
  }
  return {};  // an entity of a plugin
}

std::string format_text(const Column* column, std::size_t row, const Pools& pools) {
  if (!column || !column->has_value(row)) return {};
  switch (column->def().storage) {
    case Storage::U64: return std::to_string(column->u64()[row]);
    case Storage::String: return std::string(pools.texts[column->ids()[row]]);
    default: return {};
  }
}

// Names with this prefix are reserved too, so that no two fields have the same name.
constexpr std::string_view kMetricPrefix = "metric.";

bool is_common_field_name(std::string_view name) {
  return name == kRaw || name.starts_with(kMetricPrefix) ||
         std::ranges::count(kCommonFields, name) > 0;
}

std::vector<std::string> add_common_fields(std::initializer_list<const char*> names_to_add) {
  std::vector<std::string> names(kCommonFields.begin(), kCommonFields.end());
  names.insert(names.end(), names_to_add.begin(), names_to_add.end());
  return names;
}

}  // namespace

std::vector<std::string> make_field_names(const TableColumns& columns, Entity entity) {
  std::vector<std::string> names = add_common_fields({});
  for (const TableColumn& column : columns.get_columns(entity))
    names.push_back(is_common_field_name(column.name) ? std::string(kMetricPrefix) + column.name
                                                      : column.name);
  names.emplace_back(kRaw);
  return names;
}

std::vector<std::string> make_long_field_names(const TableColumns& columns,
                                               std::span<const Entity> entities) {
  auto names = add_common_fields({"metric", "key", "value", "exact", "text", kRaw, "gap"});
  for (const std::string& label : columns.get_labels(entities))
    names.push_back(kLabelPrefix + label);
  return names;
}

// A table of a capture.
struct TableRows::CaptureTable {
  const Snapshot& capture;
  Entity entity;
  const std::vector<TableColumn>& columns;
  std::vector<TableCells> cells;
  const Column *id_key, *id_start;  // of the row id
  std::unordered_map<std::string, std::uint32_t, SeededHash> rows_of_id;

  CaptureTable(const Snapshot& from, Entity of, const TableColumns& all)
      : capture(from),
        entity(of),
        columns(all.get_columns(of)),
        id_key(table().find(get_id_columns(of).key)),
        id_start(table().find(get_id_columns(of).start)) {
    const auto found = all.find_columns(from, of);
    for (std::size_t i = 0; i < found.size(); ++i)
      cells.emplace_back(found[i], *from.pools, columns[i].part);
  }
  const Table& table() const { return capture.table(entity); }
  const Pools& pools() const { return *capture.pools; }

  // REQUIRES: called once for each row, in order.
  std::string make_next_id(std::size_t row) {
    if (entity == Entity::Host) return "host";
    const std::string start = format_text(id_start, row, pools());
    std::string id = is_of_plugin(entity)
                         ? join_texts(identity_of_row(identity_columns(table()), row, pools()), "/")
                         : format_text(id_key, row, pools()) + (start.empty() ? "" : "@" + start);
    const std::uint32_t number = ++rows_of_id[id];
    return number > 1 ? id + "#" + std::to_string(number) : id;
  }
  bool has_started(std::size_t row) const {
    if (!capture.window) return false;
    const auto& started = capture.window->openings[static_cast<std::size_t>(entity)].started;
    return row < started.size() && started[row] != 0;
  }
  bool has_exited(std::size_t row) const {
    return capture.window && entity == Entity::Thread && row >= capture.window->living_threads;
  }
};

TableRows::TableRows(TableRowsOptions shape, const TableColumns& columns, Sink& sink)
    : shape_(std::move(shape)),
      columns_(&columns),
      out_(shape_.form, sink, shape_.escapes_formulas) {
  if (shape_.is_long) {
    labels_ = columns.get_labels(shape_.entities);
    out_.begin_table(make_long_field_names(columns, shape_.entities));
  } else if (shape_.form == TableFormat::Csv) {
    out_.begin_table(make_field_names(columns, shape_.entities.front()));
  }
}

void TableRows::add(const Snapshot& capture) {
  capture_fields_ = make_capture_fields(capture);
  for (const Entity entity : shape_.entities) add_table(capture, entity);
}

void TableRows::add_table(const Snapshot& capture, Entity entity) {
  CaptureTable place(capture, entity, *columns_);
  if (!shape_.is_long && shape_.form != TableFormat::Csv)
    out_.begin_table(make_field_names(*columns_, entity));
  for (std::size_t row = 0; row < place.table().rows && out_.get_write_result(); ++row)
    shape_.is_long ? add_long(place, row, place.make_next_id(row))
                   : add_wide(place, row, place.make_next_id(row));
}

void TableRows::begin_row(const CaptureTable& place, std::size_t row, std::string_view id) {
  out_.text(capture_fields_.capture);
  capture_fields_.captured_at ? out_.text(*capture_fields_.captured_at) : out_.null();
  capture_fields_.host ? out_.text(*capture_fields_.host) : out_.null();
  capture_fields_.window_ns ? out_.number(*capture_fields_.window_ns) : out_.null();
  out_.text(name(place.entity));
  out_.text(id);
  out_.boolean(place.has_started(row));
  out_.boolean(place.has_exited(row));
}

void TableRows::add_wide(const CaptureTable& place, std::size_t row, std::string_view id) {
  begin_row(place, row, id);
  JsonWriter raw(Escape::Unprintable);
  raw.put('{');
  for (std::size_t i = 0; i < place.cells.size(); ++i) {
    place.cells[i].put(row, out_);
    if (const auto invalid_text = place.cells[i].get_invalid_text(row))
      raw.member(place.columns[i].name, to_hex(*invalid_text));
  }
  raw.close('}');
  raw.size() > 2 ? out_.json(raw.view()) : out_.null();
  out_.end_row();
}

void TableRows::add_long(const CaptureTable& place, std::size_t row, std::string_view id) {
  for (std::size_t i = 0; i < place.cells.size(); ++i)
    place.cells[i].put_long(
        row,
        [&] {
          begin_row(place, row, id);
          out_.text(place.columns[i].name);
        },
        [&](std::optional<std::string_view> key) { put_labels(place.columns[i].labels, key); },
        out_);
}

void TableRows::put_labels(std::string_view labels, std::optional<std::string_view> key) {
  if (labels_.empty()) return;
  const auto names = label_names(labels);
  const auto values = label_values(labels, key.value_or(std::string_view()));
  for (const std::string& label : labels_) {
    const auto at = static_cast<std::size_t>(std::ranges::find(names, label) - names.begin());
    key&& at < names.size() ? out_.text(values[at]) : out_.null();
  }
}

}  // namespace ctprof
