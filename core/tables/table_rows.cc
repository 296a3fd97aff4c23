#include "core/tables/table_rows.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/base/text.hpp"
#include "core/registry/identity.hpp"
#include "core/tables/table_cell.hpp"

namespace ctprof {
namespace {

constexpr const char* kRaw = "raw";

// The columns that identify a row.
struct IdColumns {
  std::string_view what, since;
};

IdColumns id_columns(Entity entity) {
  switch (entity) {
    case Entity::Thread: return {kTid, kStartTime};
    case Entity::Process: return {kProcessTgid, {}};
    case Entity::Cgroup: return {kCgroupPath, kCgroupId};
    case Entity::Host: return {};
  }
  return {};
}

std::string text_at(const Column* column, std::size_t row, const Pools& pools) {
  if (!column || !column->has_value(row)) return {};
  switch (column->def().storage) {
    case Storage::U64: return std::to_string(column->u64()[row]);
    case Storage::String: return std::string(pools.texts[column->ids()[row]]);
    default: return {};
  }
}

// Names with this prefix are reserved too, so that no two fields have the same name.
constexpr std::string_view kOfMetric = "metric.";

bool is_taken(std::string_view name) {
  return name == kRaw || name.starts_with(kOfMetric) || std::ranges::count(kMarks, name) > 0;
}

std::vector<std::string> with_marks(std::initializer_list<const char*> more) {
  std::vector<std::string> names(kMarks.begin(), kMarks.end());
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace

std::vector<std::string> field_names(const TableColumns& columns, Entity entity) {
  std::vector<std::string> names = with_marks({});
  for (const TableColumn& column : columns.of(entity))
    names.push_back(is_taken(column.name) ? std::string(kOfMetric) + column.name : column.name);
  names.emplace_back(kRaw);
  return names;
}

std::vector<std::string> long_field_names() {
  return with_marks({"metric", "key", "value", "exact", "text", kRaw, "gap"});
}

// A table of a capture.
struct TableRows::Place {
  const Snapshot& capture;
  Entity entity;
  const std::vector<TableColumn>& columns;
  std::vector<TableCells> cells;
  const Column *what, *since;  // of the row id
  std::unordered_map<std::string, std::uint32_t, SeededHash> rows_of_id;

  Place(const Snapshot& from, Entity of, const TableColumns& all)
      : capture(from),
        entity(of),
        columns(all.of(of)),
        what(table().find(id_columns(of).what)),
        since(table().find(id_columns(of).since)) {
    for (const Column* column : all.in(from, of)) cells.emplace_back(column, *from.pools);
  }
  const Table& table() const { return capture.table(entity); }
  const Pools& pools() const { return *capture.pools; }

  // REQUIRES: called once for each row, in order.
  std::string next_id(std::size_t row) {
    if (entity == Entity::Host) return "host";
    const std::string begun = text_at(since, row, pools());
    std::string id = text_at(what, row, pools()) + (begun.empty() ? "" : "@" + begun);
    const std::uint32_t number = ++rows_of_id[id];
    return number > 1 ? id + "#" + std::to_string(number) : id;
  }
  bool was_born(std::size_t row) const {
    if (!capture.window) return false;
    const auto& born = capture.window->openings[static_cast<std::size_t>(entity)].born;
    return row < born.size() && born[row] != 0;
  }
  bool has_ended(std::size_t row) const {
    return capture.window && entity == Entity::Thread && row >= capture.window->living;
  }
};

TableRows::TableRows(TableShape shape, const TableColumns& columns, Sink& sink)
    : shape_(std::move(shape)), columns_(&columns), out_(shape_.form, sink, shape_.is_csv_safe) {
  if (shape_.is_long)
    out_.begin_table(long_field_names());
  else if (shape_.form == TableForm::Csv)
    out_.begin_table(field_names(columns, shape_.entities.front()));
}

void TableRows::add(const Snapshot& capture) {
  mark_ = mark_of(capture);
  for (const Entity entity : shape_.entities) add_table(capture, entity);
}

void TableRows::add_table(const Snapshot& capture, Entity entity) {
  Place place(capture, entity, *columns_);
  if (!shape_.is_long && shape_.form != TableForm::Csv)
    out_.begin_table(field_names(*columns_, entity));
  for (std::size_t row = 0; row < place.table().rows && out_.state(); ++row)
    shape_.is_long ? add_long(place, row, place.next_id(row))
                   : add_wide(place, row, place.next_id(row));
}

void TableRows::begin_row(const Place& place, std::size_t row, std::string_view id) {
  out_.text(mark_.capture);
  mark_.captured_at ? out_.text(*mark_.captured_at) : out_.null();
  mark_.host ? out_.text(*mark_.host) : out_.null();
  mark_.window_ns ? out_.number(*mark_.window_ns) : out_.null();
  out_.text(name(place.entity));
  out_.text(id);
  out_.boolean(place.was_born(row));
  out_.boolean(place.has_ended(row));
}

void TableRows::add_wide(const Place& place, std::size_t row, std::string_view id) {
  begin_row(place, row, id);
  JsonWriter raw(Escape::Unshowable);
  raw.put('{');
  for (std::size_t i = 0; i < place.cells.size(); ++i) {
    place.cells[i].put(row, out_);
    if (const auto odd = place.cells[i].odd_text(row)) raw.member(place.columns[i].name, hex(*odd));
  }
  raw.close('}');
  raw.size() > 2 ? out_.json(raw.view()) : out_.null();
  out_.end_row();
}

void TableRows::add_long(const Place& place, std::size_t row, std::string_view id) {
  for (std::size_t i = 0; i < place.cells.size(); ++i)
    place.cells[i].put_long(
        row,
        [&] {
          begin_row(place, row, id);
          out_.text(place.columns[i].name);
        },
        out_);
}

}  // namespace ctprof
