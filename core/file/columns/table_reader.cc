#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/file/columns/gap_pattern.hpp"
#include "core/file/columns/memory_limit.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/cell.hpp"
#include "core/file/layout/layout.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

// Returns why a cell is null if its line contains no reason.
Gap default_gap(const Column& column) {
  const Provenance& by = column.provenance;
  return by.plugin.empty() && by.gap != Gap::None ? by.gap : Gap::NotInFile;
}

void resize_columns(std::deque<Column>& columns, std::size_t rows) {
  allocate_together(columns, rows);
  for (Column& column : columns) column.resize(rows, default_gap(column));
}

// REQUIRES: both have the same storage.
void copy_rows(const Rows& rows, const Column& from, Column& to) {
  const auto* const begin = static_cast<const std::byte*>(from.values_at(rows.first));
  const auto* const end = static_cast<const std::byte*>(from.values_at(rows.end()));
  std::copy(begin, end, static_cast<std::byte*>(to.values_at(rows.first)));
  std::ranges::copy(from.gaps().subspan(rows.first, rows.count),
                    to.gaps().subspan(rows.first).begin());
}

}  // namespace

Error unexpected_table_error(const TableSlice& slice, std::string_view entity) {
  return {"is not the table of '" + std::string(entity.substr(0, 40)) + "' from row " +
          std::to_string(slice.first_row) + " that is announced there"};
}

// The state of the line that is being read.
struct TableReader::Line {
  Scanner in;
  const TableSlice& piece;
  Table& table;
  Worker& worker;
  bool is_table = false, is_entity = false, is_first = false;
  // Kept as text until the cells have been read.
  std::string_view gaps{}, base_gaps{}, raw{}, base_raw{};
  std::set<std::string> unknown_bases{};  // whose values the line contains

  bool matches_slice() const { return is_table && is_entity && is_first; }
};

Result<void> TableReader::prepare(Snapshot& snapshot, const RowsByEntity& rows,
                                  std::size_t text_bytes) {
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    snapshot.tables[entity].rows = rows[entity];
  if (!rows_fit(snapshot, text_bytes)) return Error{std::string(kTooMuchMemory)};
  for (Table& table : snapshot.tables) resize_columns(table.columns, table.rows);
  snapshot.read_at.assign(snapshot.threads().rows, 0);
  if (!snapshot.window) return {};
  if (snapshot.window->living_threads > snapshot.threads().rows)
    return Error{"the window has more living threads than there are rows"};
  snapshot.window->seen_times.resize(snapshot.threads().rows);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    Opening& opening = snapshot.window->openings[entity];
    opening.started.assign(rows[entity], 0);
    allocate_together(opening.columns, rows[entity], true);
    for (Column& column : opening.columns) column.resize(rows[entity], Gap::NoBase);
  }
  return {};
}

TableReader::TableReader(Snapshot& snapshot, std::size_t text_bytes)
    : snapshot_(&snapshot),
      unknown_paths_(snapshot.extras->unknown_definitions),
      budget_(pool_memory_limit(snapshot, text_bytes)) {
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const auto& columns = snapshot.tables[entity].columns;
    for (std::size_t i = 0; i < columns.size(); ++i)
      column_indexes_[entity].emplace(columns[i].def().name, i);
    if (!snapshot.window) continue;
    const auto& bases = snapshot.window->openings[entity].columns;
    for (std::size_t i = 0; i < bases.size(); ++i)
      base_indexes_[entity].emplace(bases[i].def().name, i);
  }
}

std::size_t TableReader::column_index(Entity entity, std::string_view column) const {
  const auto& places = column_indexes_[static_cast<std::size_t>(entity)];
  const auto found = places.find(column);
  return found == places.end() ? kNotFound : found->second;
}

Result<void> TableReader::read(std::string_view text, const TableSlice& slice, Worker& worker) {
  Table& table = snapshot_->table(slice.entity);
  Line line{.in = Scanner(text), .piece = slice, .table = table, .worker = worker};
  worker.seen.assign(table.columns.size(), false);
  worker.has_gaps.assign(table.columns.size(), false);
  if (snapshot_->window) {
    const std::size_t bases = base_indexes_[static_cast<std::size_t>(slice.entity)].size();
    worker.base_seen.assign(bases, false);
    worker.base_has_gaps.assign(bases, false);
  }
  Scanner& in = line.in;
  for (in.enter('{'); in.next('}');)
    if (!read_member(line, in.key())) return unexpected_table_error(slice, name(slice.entity));
  if (!in.has_failed() && !in.at_end()) in.fail("more than one value");
  if (!in.has_failed() && !line.matches_slice())
    return unexpected_table_error(slice, name(slice.entity));
  if (!in.has_failed() && !line.gaps.empty()) read_gaps(line, line.gaps, table_columns(line));
  if (!in.has_failed() && !line.base_gaps.empty())
    read_gaps(line, line.base_gaps, opening_columns(line));
  if (!in.has_failed() && snapshot_->window) copy_ends_to_bases(line);
  if (!in.has_failed() && !line.raw.empty()) read_raw(line, line.raw, table_columns(line));
  if (!in.has_failed() && !line.base_raw.empty())
    read_raw(line, line.base_raw, opening_columns(line));
  return in.has_failed() ? Result<void>(Error{"is wrong: " + in.error_text()}) : Result<void>();
}

// Reads one member. Returns false if the line does not contain the announced rows.
bool TableReader::read_member(Line& line, std::string_view key) {
  Scanner& in = line.in;
  if (key == "kind") return (line.is_table = in.text() == line.piece.kind()) || in.has_failed();
  if (key == "entity")
    return (line.is_entity = in.text() == name(line.piece.entity)) || in.has_failed();
  if (key == "first_row")
    return (line.is_first = in.number() == line.piece.first_row) || in.has_failed();
  if (!in.has_failed() && !line.piece.is_opening_only && !line.matches_slice()) return false;
  if (key == "columns")
    read_columns(line);
  else if (key == "gaps")
    line.gaps = in.skip();
  else if (key == "raw")
    line.raw = in.skip();
  else if (key == "read_at")
    read_read_times(line);
  else if ((key == "bases" || key == "newer_bases") && snapshot_->window)
    read_bases(line);
  else if (key == "base_gaps")
    line.base_gaps = in.skip();
  else if (key == "base_raw")
    line.base_raw = in.skip();
  else if (key == "born" && snapshot_->window)
    read_started(line);
  else if (key == "seen" && snapshot_->window)
    read_seen(line);
  else if (key == "unknown")
    read_unknown_keys(line);
  else
    in.skip();
  return true;
}

void TableReader::read_columns(Line& line) {
  for (line.in.enter('{'); line.in.next('}');) {
    const std::string name(line.in.key());
    const std::size_t place = column_index(line.piece.entity, name);
    if (place == kNotFound) {
      read_unknown_column(line, name);
      continue;
    }
    if (line.worker.seen[place]) return line.in.fail("column " + quote_name(name) + " is repeated");
    line.worker.seen[place] = true;
    line.worker.cells.read(line.in, line.piece.range(), line.table.columns[place]);
  }
}

// --- unknown keys ---

// Keeps the cells of a column that the header does not define, or whose newtype is unknown.
void TableReader::read_unknown_column(Line& line, const std::string& name) {
  Scanner& in = line.in;
  const Rows rows = line.piece.range();
  const std::string path = unknown_paths_.find_path(line.piece.entity, name);
  const std::size_t depth = allowed_depth_below(path, root_of(line.piece.entity));
  std::size_t row = rows.first;
  for (in.enter('['); in.next(']'); ++row) {
    if (row == rows.end()) return in.fail("column " + quote_name(name) + " is too long");
    if (!in.consume_null()) keep_cell(line, unknown_keys(line), path, row, in.skip(depth));
  }
}

// Keeps the values of an unknown metric at the opening, including nulls: a row without a value
// would later have the value at the end.
void TableReader::read_unknown_base(Line& line, const std::string& name) {
  Scanner& in = line.in;
  if (!line.unknown_bases.insert(name).second)
    return in.fail("base " + quote_name(name) + " is repeated");
  const Rows rows = line.piece.range();
  const std::size_t depth = allowed_depth_below(unknown_paths_.find_path(line.piece.entity, name),
                                                root_of(line.piece.entity));
  std::size_t row = rows.first;
  for (in.enter('['); in.next(']'); ++row) {
    if (row == rows.end()) return in.fail("base " + quote_name(name) + " is too long");
    keep_cell(line, unknown_bases(line), name, row, in.skip(depth));
  }
}

// Keeps nulls for an unknown metric whose line has only gaps.
void TableReader::read_gaps_of_unknown_base(Line& line, const std::string& name) {
  if (!unknown_bases(line).contains(name) || !line.unknown_bases.insert(name).second) return;
  for (std::size_t row = line.piece.first_row; row < line.piece.range().end(); ++row)
    keep_cell(line, unknown_bases(line), name, row, "null");
}

KeptKeys& TableReader::unknown_keys(const Line& line) {
  return snapshot_->extras->unknown_keys[static_cast<std::size_t>(line.piece.entity)];
}

KeptKeys& TableReader::unknown_bases(const Line& line) {
  return snapshot_->extras->unknown_base_cells[static_cast<std::size_t>(line.piece.entity)];
}

void TableReader::read_unknown_keys(Line& line) {
  constexpr std::string_view kWrong = "a pair of a row and a value was expected";
  Scanner& in = line.in;
  for (in.enter('{'); in.next('}');) {
    const std::string path = normal_path(in.key());
    if (path.empty()) in.fail("an unknown key has no path");
    const std::size_t depth = allowed_depth_below(path, root_of(line.piece.entity));
    for (in.enter('['); in.next(']');) {
      in.enter('[');
      if (!in.next(']')) return in.fail(kWrong);
      const std::size_t row = in.number();
      if (!line.piece.range().contains(row) || !in.next(']')) return in.fail(kWrong);
      keep_cell(line, unknown_keys(line), path, row, in.skip(depth));
      if (in.next(']')) return in.fail(kWrong);
    }
  }
}

void TableReader::keep_cell(Line& line, KeptKeys& kept, const std::string& path, std::size_t row,
                            std::string_view json) {
  if (line.in.has_failed()) return;
  if (path.size() > limits::kKeyBytes || split_path(path).size() > limits::kPathKeys)
    return line.in.fail("a key is too long");
  budget_.spend(path.size() + json.size(), line.in);
  const std::lock_guard lock(unknown_keys_mutex_);
  if (kept.size() == limits::kColumns && !kept.contains(path))
    return line.in.fail("too many kinds of unknown keys");
  kept[path].emplace_back(static_cast<std::uint32_t>(row), remove_blanks(json));
}

// --- times at which rows were read ---

void TableReader::read_read_times(Line& line) {
  Scanner& in = line.in;
  const Rows rows = line.piece.range();
  if (line.piece.entity != Entity::Thread) return void(in.skip());
  const std::span<std::uint64_t> read_at = snapshot_->read_at;
  std::size_t row = rows.first;
  for (in.enter('['); in.next(']'); ++row) {
    row += in.read_plain_numbers(read_at.subspan(row, rows.end() - row), UINT64_MAX);
    if (row == rows.end()) return in.fail("read_at is too long");
    read_at[row] = in.number();
  }
  if (!in.has_failed() && row != rows.end()) in.fail("read_at is too short");
  has_read_times_ = true;
}

// --- windows ---

Column* TableReader::ColumnSet::find(std::string_view name, std::size_t& place) const {
  const auto found = indexes->find(name);
  if (found == indexes->end()) return nullptr;
  place = found->second;
  return &(*columns)[place];
}

TableReader::ColumnSet TableReader::table_columns(Line& line) {
  return {&line.table.columns, &column_indexes_[static_cast<std::size_t>(line.piece.entity)],
          &line.worker.seen, &line.worker.has_gaps};
}

TableReader::ColumnSet TableReader::opening_columns(Line& line) {
  const auto entity = static_cast<std::size_t>(line.piece.entity);
  static std::deque<Column> none;
  return {snapshot_->window ? &snapshot_->window->openings[entity].columns : &none,
          &base_indexes_[entity], &line.worker.base_seen, &line.worker.base_has_gaps};
}

void TableReader::read_bases(Line& line) {
  const ColumnSet target = opening_columns(line);
  for (line.in.enter('{'); line.in.next('}');) {
    const std::string name(line.in.key());
    std::size_t place = 0;
    Column* column = target.find(name, place);
    if (!column && unknown_bases(line).contains(name)) {
      read_unknown_base(line, name);
      continue;
    }
    if (!column) return line.in.fail("no base of " + quote_name(name) + " is announced");
    if ((*target.seen)[place]) return line.in.fail("base " + quote_name(name) + " is repeated");
    (*target.seen)[place] = true;
    line.worker.cells.read(line.in, line.piece.range(), *column);
  }
}

// Copies the values at the end of the window into bases that the line leaves out.
void TableReader::copy_ends_to_bases(Line& line) {
  const ColumnSet target = opening_columns(line);
  const Rows rows = line.piece.range();
  for (std::size_t place = 0; place < target.columns->size(); ++place) {
    if ((*target.seen)[place] || (*target.has_gaps)[place]) continue;
    Column& base = (*target.columns)[place];
    const Column& end = line.table.columns[column_index(line.piece.entity, base.def().name)];
    copy_rows(rows, end, base);
  }
}

void TableReader::read_started(Line& line) {
  Scanner& in = line.in;
  Opening& opening = snapshot_->window->openings[static_cast<std::size_t>(line.piece.entity)];
  std::size_t started_rows = 0;
  for (in.enter('['); in.next(']');) {
    const std::size_t row = in.number();
    if (!line.piece.range().contains(row) || ++started_rows > line.piece.rows)
      return in.fail("it lists the start of a row that is not in this line");
    opening.started[row] = 1;
  }
}

void TableReader::read_seen(Line& line) {
  Scanner& in = line.in;
  if (line.piece.entity != Entity::Thread) return void(in.skip());
  std::size_t row = line.piece.first_row;
  for (in.enter('['); in.next(']'); ++row) {
    if (!line.piece.range().contains(row)) return in.fail("seen is too long");
    SeenTimes& seen = snapshot_->window->seen_times[row];
    in.enter('[');
    if (in.next(']')) seen.first = in.number();
    if (in.next(']')) seen.last = in.number();
    if (in.next(']') || seen.first > seen.last) return in.fail("seen is not a span of time");
  }
  if (!in.has_failed() && row != line.piece.range().end()) in.fail("seen is too short");
  has_seen_times_ = true;
}

void TableReader::read_gaps(Line& line, std::string_view text, const ColumnSet& target) {
  line.in.restart(text);
  for (line.in.enter('['); line.in.next(']');) {
    const GapPattern pattern = read_gap_pattern(line.in, line.piece.rows);
    if (!line.in.has_failed()) apply_gap_pattern(line, pattern, target);
  }
}

// Rejects repeated columns, so that the cells of a line limit the work that it can cause.
void TableReader::apply_gap_pattern(Line& line, const GapPattern& pattern,
                                    const ColumnSet& target) {
  for (const std::string& name : pattern.columns) {
    std::size_t place = 0;
    Column* found = target.find(name, place);
    if (!found && target.columns != &line.table.columns) read_gaps_of_unknown_base(line, name);
    if (!found) continue;
    if ((*target.has_gaps)[place])
      return line.in.fail("gaps of " + quote_name(name) + " are repeated");
    (*target.has_gaps)[place] = true;
    const auto cells = found->gaps().subspan(line.piece.first_row, line.piece.rows);
    if (const std::string_view wrong = pattern.replace_nulls(cells); !wrong.empty())
      return line.in.fail("gaps of " + quote_name(name) + " are " + std::string(wrong));
  }
}

void TableReader::read_raw(Line& line, std::string_view text, const ColumnSet& target) {
  line.in.restart(text);
  Scanner& in = line.in;
  for (in.enter('{'); in.next('}');) {
    std::size_t place = 0;
    Column* column = target.find(in.key(), place);
    if (column && column->def().storage != Storage::String) column = nullptr;
    for (in.enter('['); in.next(']');) read_raw_text(line, column);
  }
}

void TableReader::read_raw_text(Line& line, Column* column) {
  constexpr std::string_view kWrong = "a pair of a row and bytes in hexadecimal was expected";
  Scanner& in = line.in;
  in.enter('[');
  if (!in.next(']')) return in.fail(kWrong);
  const std::size_t row = in.number();
  if (!line.piece.range().contains(row) || !in.next(']')) return in.fail(kWrong);
  const auto bytes = from_hex(in.text());
  if (!bytes || in.next(']')) return in.fail(kWrong);
  if (column) line.worker.cells.put_text(in, *bytes, *column, row);
}

}  // namespace ctprof::columns
