#include <algorithm>
#include <array>

#include "core/base/cpu_ranges.hpp"
#include "core/base/text.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/cell.hpp"
#include "core/file/layout/row_notes.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

constexpr std::size_t kOneRunItems = 2;  // its code and its count

// Writes one value and a comma.
class CellWriter {
 public:
  CellWriter(const Column& column, const Pools& pools, JsonWriter& out)
      : column_(&column), pools_(&pools), out_(&out), is_object_(!column.def().map_keys.empty()) {}

  void write(std::size_t row) {
    switch (column_->def().storage) {
      case Storage::U64: out_->number(column_->u64()[row]); break;
      case Storage::I64: out_->number(column_->i64()[row]); break;
      case Storage::F64: out_->number(column_->f64()[row]); break;
      case Storage::Bool: out_->boolean(column_->bools()[row] != 0); break;
      case Storage::String: out_->text(pools_->texts[column_->ids()[row]]); break;
      case Storage::Bitset: write_bits(pools_->words[column_->ids()[row]]); break;
      case Storage::Map: write_map(pools_->maps[column_->ids()[row]]); break;
      case Storage::Array: write_array(pools_->words[column_->ids()[row]]); break;
      case Storage::Stacks: out_->number(total_weight(pools_->stacks[column_->ids()[row]])); break;
    }
    out_->put(',');
  }

 private:
  void write_bits(std::span<const std::uint64_t> words) {
    out_->put('"');
    out_->raw(format_cpu_ranges(words));
    out_->put('"');
  }
  void write_array(std::span<const std::uint64_t> words) {
    out_->put('[');
    for (const std::uint64_t word : words) out_->number(word), out_->put(',');
    out_->close(']');
  }
  void write_map(std::span<const ctprof_entry> entries) {
    out_->put(is_object_ ? '{' : '[');
    for (const ctprof_entry& entry : entries) {
      const std::string_view key(entry.key.data, entry.key.size);
      if (is_object_) {
        out_->member(key, entry.value);
        continue;
      }
      out_->put('[');
      out_->text(key);
      out_->put(',');
      out_->number(entry.value);
      out_->raw("],");
    }
    out_->close(is_object_ ? '}' : ']');
  }

  const Column* column_;
  const Pools* pools_;
  JsonWriter* out_;
  bool is_object_;
};

// Returns the reasons of the cells without a value. An unlimited limit counts as a value here.
Runs runs_of_nulls(const Column& column, const TableSlice& piece) {
  const CellCodes codes(column);
  Runs runs;
  for (std::size_t row = piece.first_row; row < piece.first_row + piece.rows; ++row) {
    const std::uint8_t code = codes[row];
    if (code == CTPROF_VALUE || code == kUnbounded) continue;
    if (runs.empty() || runs[runs.size() - 2] != code) runs.insert(runs.end(), {code, 0});
    ++runs.back();
  }
  return runs;
}

std::size_t nulls_in(const Runs& runs) {
  std::size_t nulls = 0;
  for (std::size_t i = 1; i < runs.size(); i += 2) nulls += runs[i];
  return nulls;
}

const KeptKeys& kept_keys(const std::array<KeptKeys, kEntities>& by_entity,
                          const TableSlice& slice) {
  return by_entity[static_cast<std::size_t>(slice.entity)];
}

// Returns whether the header already contains the reason why the column is empty.
bool has_known_reason(const Column& column, const Runs& runs) {
  return column.provenance.plugin.empty() && runs.size() == kOneRunItems &&
         runs[0] == static_cast<ctprof_gap>(column.provenance.gap);
}

void write_all_cells(const Column& column, const TableSlice& piece, const Pools& pools,
                     JsonWriter& out) {
  const std::size_t end = piece.first_row + piece.rows;
  if (column.def().storage == Storage::U64)
    return out.items(column.u64().subspan(piece.first_row, piece.rows));
  CellWriter cells(column, pools, out);
  for (std::size_t row = piece.first_row; row < end; ++row) cells.write(row);
}

void write_cells_and_nulls(const Column& column, const TableSlice& piece, const Pools& pools,
                           JsonWriter& out) {
  const CellCodes codes(column);
  CellWriter cells(column, pools, out);
  for (std::size_t row = piece.first_row; row < piece.first_row + piece.rows; ++row) {
    const std::uint8_t code = codes[row];
    code == CTPROF_VALUE || code == kUnbounded ? cells.write(row) : out.raw("null,");
  }
}

// Compares maps by contents, because equal maps may have different ids.
bool is_same_map(const Column& a, const Column& b, std::size_t row, const MapPool& maps) {
  return a.def().storage == Storage::Map && a.has_value(row) && b.has_value(row) &&
         are_equal(maps[a.ids()[row]], maps[b.ids()[row]]);
}

// Returns whether all cells of the slice are equal in both columns, so that one can be left out.
bool are_equal(const Column& a, const Column& b, const TableSlice& piece, const Pools& pools) {
  for (std::size_t row = piece.first_row; row < piece.range().end(); ++row)
    if (!a.has_same_cell(row, b) && !is_same_map(a, b, row, pools.maps)) return false;
  return true;
}

using KeptCells = KeptKeys::mapped_type;

KeptCells::const_iterator first_cell_from(const KeptCells& cells, std::size_t row) {
  return std::lower_bound(cells.begin(), cells.end(), row,
                          [](const auto& cell, std::size_t at) { return cell.first < at; });
}

}  // namespace

TableWriter::TableWriter(const Snapshot& snapshot)
    : snapshot_(&snapshot), invalid_texts_(invalid_texts(snapshot.pools->texts)) {
  for (const UnknownMetric& metric : snapshot.extras->unknown_definitions.metrics)
    if (metric.entity)
      unknown_metric_paths_[static_cast<std::size_t>(*metric.entity)].insert(metric.path);
  if (!snapshot.window) return;
  for (std::size_t place = 0; place < kEntities; ++place)
    for (const Column& column : snapshot.tables[place].columns)
      columns_[place].emplace(column.def().name, &column);
}

void TableWriter::write(const TableSlice& slice, JsonWriter& out) const {
  out.put('{');
  out.member("kind", slice.kind());
  out.member("entity", name(slice.entity));
  out.member("first_row", slice.first_row);
  CodeRuns gaps;
  write_columns(slice, out, gaps);
  write_gaps("gaps", gaps, out);
  if (snapshot_->window) write_window(slice, out);
  write_raw("raw", snapshot_->table(slice.entity).columns, slice, out);
  write_read_at(slice, out);
  write_unknown(slice, out);
  out.close('}');
  out.put('\n');
}

void TableWriter::write_gaps(std::string_view key, const CodeRuns& gaps, JsonWriter& out) const {
  out.key(key);
  out.put('[');
  for (const auto& [runs, columns] : gaps.groups()) {
    out.raw("{\"columns\":[");
    for (const Column* column : columns) out.text(column->def().name), out.put(',');
    out.close(']');
    out.raw(",\"runs\":[");
    for (const std::uint64_t number : runs) out.number(number), out.put(',');
    out.close(']');
    out.raw("},");
  }
  out.close(']');
  out.put(',');
}

void TableWriter::write_column(const Column& column, const TableSlice& slice, JsonWriter& out,
                               CodeRuns& gaps) const {
  Runs runs = runs_of_nulls(column, slice);
  const std::size_t nulls = nulls_in(runs);
  if (nulls < slice.rows) {
    out.key(column.def().name);
    out.put('[');
    (nulls == 0 ? write_all_cells : write_cells_and_nulls)(column, slice, *snapshot_->pools, out);
    out.close(']');
    out.put(',');
  } else if (has_known_reason(column, runs)) {
    return;
  }
  if (nulls == 0) return;
  gaps.add(std::move(runs), column);
}

bool has_newer_newtype(const MetricDef& def) { return def.newtype.starts_with("Histogram"); }

// Writes the values at the opening that differ from those at the end.
void TableWriter::write_bases(const TableSlice& slice, JsonWriter& out, CodeRuns& gaps) const {
  const auto place = static_cast<std::size_t>(slice.entity);
  const auto write_changed = [&](bool newer) {
    for (const Column& column : snapshot_->window->openings[place].columns) {
      const auto end = columns_[place].find(column.def().name);
      if (has_newer_newtype(column.def()) == newer && end != columns_[place].end() &&
          !are_equal(column, *end->second, slice, *snapshot_->pools))
        write_column(column, slice, out, gaps);
    }
  };
  out.raw("\"bases\":{");
  write_changed(false);
  out.close('}');
  out.put(',');
  const std::size_t start = out.size();
  out.raw("\"newer_bases\":{");
  const std::size_t empty = out.size();
  write_changed(true);
  const KeptKeys& unknown = kept_keys(snapshot_->extras->unknown_base_cells, slice);
  for (const auto& [name, cells] : unknown) write_kept_column(name, unknown, name, slice, out);
  if (out.size() == empty) return out.truncate(start);
  out.close('}');
  out.put(',');
}

// Writes the members of a window's line in addition to the values at its end.
void TableWriter::write_window(const TableSlice& slice, JsonWriter& out) const {
  const Window& window = *snapshot_->window;
  const Opening& opening = window.openings[static_cast<std::size_t>(slice.entity)];
  CodeRuns gaps;
  write_bases(slice, out, gaps);
  write_gaps("base_gaps", gaps, out);
  write_raw("base_raw", opening.columns, slice, out);
  out.raw("\"born\":[");
  for (std::size_t row = slice.first_row; row < slice.range().end(); ++row)
    if (opening.started[row]) out.number(std::uint64_t{row}), out.put(',');
  out.close(']');
  out.put(',');
  if (slice.entity != Entity::Thread || window.seen_times.empty()) return;
  out.raw("\"seen\":[");
  for (std::size_t row = slice.first_row; row < slice.range().end(); ++row) {
    out.put('[');
    out.number(window.seen_times[row].first);
    out.put(',');
    out.number(window.seen_times[row].last);
    out.raw("],");
  }
  out.close(']');
  out.put(',');
}

void TableWriter::write_columns(const TableSlice& slice, JsonWriter& out, CodeRuns& gaps) const {
  out.raw("\"columns\":{");
  for (const Column& column : snapshot_->table(slice.entity).columns)
    if (!column.def().is_hidden) write_column(column, slice, out, gaps);
  for (const UnknownMetric& metric : snapshot_->extras->unknown_definitions.metrics)
    if (metric.entity == slice.entity)
      write_kept_column(metric.name, kept_keys(snapshot_->extras->unknown_keys, slice), metric.path,
                        slice, out);
  out.close('}');
  out.put(',');
}

// Writes the kept cells of a column whose newtype this version does not know.
void TableWriter::write_kept_column(const std::string& name, const KeptKeys& kept,
                                    const std::string& path, const TableSlice& slice,
                                    JsonWriter& out) const {
  const auto found = kept.find(path);
  if (found == kept.end()) return;
  auto cell = first_cell_from(found->second, slice.first_row);
  if (cell == found->second.end() || !slice.range().contains(cell->first)) return;
  out.key(name);
  out.put('[');
  for (std::size_t row = slice.first_row; row < slice.range().end(); ++row) {
    const bool has_cell = cell != found->second.end() && cell->first == row;
    out.raw(has_cell ? std::string_view((cell++)->second) : "null");
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void TableWriter::write_raw(std::string_view key, const std::deque<Column>& columns,
                            const TableSlice& slice, JsonWriter& out) const {
  if (invalid_texts_.empty()) return;
  const std::size_t start = out.size();
  bool any = false;
  out.key(key);
  out.put('{');
  for (const Column& column : columns) {
    if (column.def().is_hidden || column.def().storage != Storage::String) continue;
    bool begun = false;
    for (std::size_t row = slice.first_row; row < slice.first_row + slice.rows; ++row) {
      const Id id = column.ids()[row];
      if (!column.has_value(row) ||
          !std::binary_search(invalid_texts_.begin(), invalid_texts_.end(), id))
        continue;
      if (!begun) out.key(column.def().name), out.put('[');
      begun = any = true;
      out.put('[');
      out.number(std::uint64_t{row});
      out.raw(",\"" + to_hex(snapshot_->pools->texts[id]) + "\"],");
    }
    if (begun) out.close(']'), out.put(',');
  }
  out.close('}');
  out.put(',');
  if (!any) out.truncate(start);
}

void TableWriter::write_read_at(const TableSlice& slice, JsonWriter& out) const {
  if (slice.entity != Entity::Thread || snapshot_->read_at.empty()) return;
  out.raw("\"read_at\":[");
  for (std::size_t row = slice.first_row; row < slice.first_row + slice.rows; ++row) {
    out.number(snapshot_->read_at[row]);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void TableWriter::write_unknown(const TableSlice& slice, JsonWriter& out) const {
  const KeptKeys& kept = kept_keys(snapshot_->extras->unknown_keys, slice);
  if (kept.empty()) return;
  const std::size_t start = out.size();
  bool any = false;
  out.raw("\"unknown\":{");
  for (const auto& [path, cells] : kept) {
    auto cell = first_cell_from(cells, slice.first_row);
    if (cell == cells.end() || !slice.range().contains(cell->first)) continue;
    if (unknown_metric_paths_[static_cast<std::size_t>(slice.entity)].contains(path)) continue;
    any = true;
    out.key(path);
    out.put('[');
    for (; cell != cells.end() && slice.range().contains(cell->first); ++cell) {
      out.put('[');
      out.number(std::uint64_t{cell->first});
      out.put(',');
      out.raw(cell->second);
      out.raw("],");
    }
    out.close(']');
    out.put(',');
  }
  out.close('}');
  out.put(',');
  if (!any) out.truncate(start);
}

}  // namespace ctprof::columns
