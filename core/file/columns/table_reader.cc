#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "core/base/cpu_ranges.hpp"
#include "core/base/hex.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/cell.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/identity.hpp"

namespace ctprof::columns {
namespace {

constexpr auto kNotInFile = static_cast<ctprof_gap>(Gap::NotInFile);

// Why a cell is null where its line does not say so.
Gap default_gap(const Column& column) {
  const Provenance& by = column.provenance;
  return by.plugin.empty() && by.gap != Gap::None ? by.gap : Gap::NotInFile;
}

std::size_t bytes_per_row(Storage storage) {
  const std::size_t value = storage == Storage::Bool ? 1
                            : is_pooled(storage)     ? sizeof(Id)
                                                     : sizeof(std::uint64_t);
  return value + sizeof(ctprof_gap);
}

std::size_t allowed(std::size_t text_bytes) {
  return std::min(limits::kMemory, limits::kFreeMemory + limits::kMemoryPerByte * text_bytes);
}

constexpr std::string_view kTooMuch = "asks for more memory than a file of its size may";

std::size_t bytes_of(const Snapshot& snapshot, const TableReader::Rows& rows) {
  std::size_t bytes = 0;
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    for (const Column& column : snapshot.tables[entity].columns)
      bytes += rows.of[entity] * bytes_per_row(column.def().storage);
  return bytes;
}

Error not_announced(const Piece& piece) {
  return {"is not the table that the header announces there: rows of " +
          std::string(name(piece.entity)) + " from " + std::to_string(piece.first_row)};
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  return "'" + std::string(text.substr(0, kShown)) + "'";
}

}  // namespace

// A line that is being read.
struct TableReader::Line {
  Scanner in;
  const Piece& piece;
  Table& table;
  Worker& worker;
  std::size_t end() const { return piece.first_row + piece.rows; }
};

Result<void> TableReader::prepare(Snapshot& snapshot, const Rows& rows, std::size_t text_bytes) {
  if (bytes_of(snapshot, rows) > allowed(text_bytes)) return Error{std::string(kTooMuch)};
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    Table& table = snapshot.tables[entity];
    table.rows = rows.of[entity];
    for (Column& column : table.columns) column.resize(table.rows, default_gap(column));
  }
  snapshot.read_at.assign(snapshot.threads().rows, 0);
  return {};
}

TableReader::TableReader(Snapshot& snapshot, std::size_t text_bytes)
    : snapshot_(&snapshot), most_pooled_(allowed(text_bytes)) {
  Rows rows;
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    const auto& columns = snapshot.tables[entity].columns;
    rows.of[entity] = snapshot.tables[entity].rows;
    for (std::size_t i = 0; i < columns.size(); ++i)
      places_[entity].emplace(columns[i].def().name, i);
  }
  most_pooled_ -= std::min(most_pooled_, bytes_of(snapshot, rows));
}

std::size_t TableReader::place_of(Entity entity, std::string_view column) const {
  const auto& places = places_[static_cast<std::size_t>(entity)];
  const auto found = places.find(column);
  return found == places.end() ? kNowhere : found->second;
}

void TableReader::pool(Line& line, std::size_t bytes) {
  if ((pooled_ += bytes + limits::kPooledOverhead) > most_pooled_) line.in.fail(kTooMuch);
}

Result<void> TableReader::read(std::string_view text, const Piece& piece, Worker& worker) {
  Table& table = snapshot_->table(piece.entity);
  Line line{Scanner(text), piece, table, worker};
  std::string_view gaps, raw;
  worker.seen.assign(table.columns.size(), false);
  worker.explained.assign(table.columns.size(), false);
  Scanner& in = line.in;
  bool is_table = false, is_entity = false, is_first = false;
  const auto is_announced = [&] { return is_table && is_entity && is_first; };
  for (in.enter('{'); in.next('}');) {
    const std::string_view key = in.key();
    if (key == "kind")
      is_table = in.text() == "table";
    else if (key == "entity")
      is_entity = in.text() == name(piece.entity);
    else if (key == "first_row")
      is_first = in.number() == piece.first_row;
    else if (!in.failed() && !is_announced())
      return not_announced(piece);
    else if (key == "columns")
      read_columns(line);
    else if (key == "gaps")
      gaps = in.skip();
    else if (key == "raw")
      raw = in.skip();
    else if (key == "read_at")
      read_read_at(line);
    else if (key == "unknown")
      read_unknown(line);
    else
      in.skip();
  }
  if (!in.failed() && !in.at_end()) in.fail("more than one value");
  if (!in.failed() && !is_announced()) return not_announced(piece);
  if (!in.failed() && !gaps.empty()) read_gaps(line, gaps);
  if (!in.failed() && !raw.empty()) read_raw(line, raw);
  return in.failed() ? Result<void>(Error{in.why()}) : Result<void>();
}

void TableReader::read_columns(Line& line) {
  for (line.in.enter('{'); line.in.next('}');) {
    const std::string name(line.in.key());
    const std::size_t place = place_of(line.piece.entity, name);
    if (place == kNowhere) {
      read_unknown_column(line, name);
      continue;
    }
    if (line.worker.seen[place]) return line.in.fail("column " + quoted(name) + " is there twice");
    line.worker.seen[place] = true;
    line.worker.has_last = false;
    read_column(line, line.table.columns[place]);
  }
}

void TableReader::read_column(Line& line, Column& column) {
  const Bounds bounds = bounds_of(column.def());
  const bool is_plain = column.def().storage == Storage::U64;
  Scanner& in = line.in;
  std::size_t row = line.piece.first_row;
  for (in.enter('['); in.next(']'); ++row) {
    if (row == line.end()) return in.fail("column " + quoted(column.def().name) + " is too long");
    if (in.null()) {
      column.gaps()[row] = kNotInFile;
      continue;
    }
    column.gaps()[row] = CTPROF_VALUE;
    if (!is_plain) {
      read_cell(line, column, row);
      continue;
    }
    const std::uint64_t value = in.number();
    if (value > bounds.most) return in.fail("a value is out of range for " + column.def().newtype);
    column.u64()[row] = value;
  }
  if (!in.failed() && row != line.end())
    in.fail("column " + quoted(column.def().name) + " has " +
            std::to_string(row - line.piece.first_row) + " cells, not " +
            std::to_string(line.piece.rows) + ", and ends");
}

void TableReader::read_cell(Line& line, Column& column, std::size_t row) {
  Scanner& in = line.in;
  switch (column.def().storage) {
    case Storage::I64: {
      const std::int64_t value = in.signed_number();
      const Bounds bounds = bounds_of(column.def());
      if (value < bounds.least || (value > 0 && static_cast<std::uint64_t>(value) > bounds.most))
        return in.fail("a value is out of range for " + column.def().newtype);
      column.i64()[row] = value;
      return;
    }
    case Storage::F64: column.f64()[row] = in.real(); return;
    case Storage::Bool: column.bools()[row] = in.boolean(); return;
    case Storage::String: return read_text(line, column, row);
    case Storage::Bitset: return read_bits(line, column, row);
    case Storage::Array: return read_array(line, column, row);
    case Storage::Map: return read_map(line, column, row);
    case Storage::U64: column.u64()[row] = in.number(); return;
  }
}

// Texts repeat from row to row, and then cost nothing.
bool TableReader::is_last(Line& line, Column& column, std::size_t row, std::string_view text) {
  const Worker& worker = line.worker;
  if (!worker.has_last || worker.last_text != text) return false;
  column.ids()[row] = worker.last_id;
  return true;
}

void TableReader::set_last(Line& line, Column& column, std::size_t row, std::string_view text,
                           Id id) {
  line.worker.last_text = text;
  line.worker.last_id = id;
  line.worker.has_last = true;
  column.ids()[row] = id;
}

void TableReader::read_text(Line& line, Column& column, std::size_t row) {
  const std::string_view text = line.in.text();
  if (text.size() > limits::kTextBytes) return line.in.fail("a text is too long");
  if (is_last(line, column, row, text)) return;
  pool(line, text.size());
  set_last(line, column, row, text, line.worker.texts.intern(text));
}

void TableReader::read_bits(Line& line, Column& column, std::size_t row) {
  std::vector<std::uint64_t>& words = line.worker.words;
  const std::string_view text = line.in.text();
  if (is_last(line, column, row, text)) return;
  if (!parse_cpu_ranges(text, limits::kItems, words))
    return line.in.fail("a set of CPUs was expected, as \"0-3,8\",");
  pool(line, words.size() * sizeof words[0]);
  set_last(line, column, row, text, snapshot_->pools->words.intern(words));
}

void TableReader::read_array(Line& line, Column& column, std::size_t row) {
  std::vector<std::uint64_t>& words = line.worker.words;
  words.clear();
  for (line.in.enter('['); line.in.next(']'); words.push_back(line.in.number()))
    if (words.size() == limits::kItems) return line.in.fail("an array has too many items");
  pool(line, words.size() * sizeof words[0]);
  column.ids()[row] = snapshot_->pools->words.intern(words);
}

// Keys repeat from map to map.
void TableReader::add_key(Line& line, std::string_view key) {
  std::vector<ctprof_entry>& entries = line.worker.entries;
  if (entries.size() == limits::kItems) return line.in.fail("a map has too many keys");
  if (key.size() > limits::kKeyBytes) return line.in.fail("a key is too long");
  auto known = line.worker.keys.find(std::string(key));
  if (known == line.worker.keys.end()) {
    const Id id = line.worker.texts.intern(key);
    ctprof_text kept{};
    snapshot_->pools->texts.resolve({&id, 1}, {&kept, 1});
    known = line.worker.keys.emplace(key, kept).first;
    pool(line, key.size());
  }
  entries.push_back({known->second, 0});
  pool(line, 0);
}

void TableReader::read_map(Line& line, Column& column, std::size_t row) {
  Scanner& in = line.in;
  std::vector<ctprof_entry>& entries = line.worker.entries;
  entries.clear();
  const auto add_value = [&] {
    const std::uint64_t value = in.number();
    if (!in.failed() && !entries.empty()) entries.back().value = value;
  };
  if (in.peek() == '{') {
    for (in.enter('{'); in.next('}'); add_value()) add_key(line, in.key());
  } else {
    for (in.enter('['); in.next(']');) {
      in.enter('[');
      if (in.next(']')) add_key(line, in.text());
      if (in.next(']')) add_value();
      if (in.next(']')) in.fail("a pair of a key and a value was expected");
    }
  }
  if (in.failed()) return;
  const auto is_before = [](const ctprof_entry& a, const ctprof_entry& b) {
    return std::string_view(a.key.data, a.key.size) < std::string_view(b.key.data, b.key.size);
  };
  const bool ascends =
      std::adjacent_find(entries.begin(), entries.end(), std::not_fn(is_before)) == entries.end();
  MapPool& maps = snapshot_->pools->maps;
  column.ids()[row] =
      ascends ? maps.append_pooled(entries) : maps.append(entries, snapshot_->pools->texts);
}

// A column that the header's registry does not define, or whose newtype this version does not know.
void TableReader::read_unknown_column(Line& line, const std::string& name) {
  Scanner& in = line.in;
  std::size_t row = line.piece.first_row;
  for (in.enter('['); in.next(']'); ++row) {
    if (row == line.end()) return in.fail("column " + quoted(name) + " is too long");
    if (const std::string_view json = in.skip(); json != "null") keep(line, name, row, json);
  }
}

void TableReader::keep(Line& line, const std::string& path, std::size_t row,
                       std::string_view json) {
  pool(line, path.size() + json.size());
  const std::lock_guard lock(keeping_);
  KeptKeys& kept = snapshot_->unknown_keys[static_cast<std::size_t>(line.piece.entity)];
  if (kept.size() == limits::kColumns && !kept.contains(path))
    return line.in.fail("too many kinds of unknown keys");
  kept[path].emplace_back(static_cast<std::uint32_t>(row), compact(json));
}

void TableReader::read_unknown(Line& line) {
  Scanner& in = line.in;
  for (in.enter('{'); in.next('}');) {
    const std::string path(in.key());
    for (in.enter('['); in.next(']');) {
      in.enter('[');
      const std::size_t row = in.next(']') ? in.number() : line.end();
      const std::string_view json = in.next(']') ? in.skip() : std::string_view{};
      if (in.next(']') || row < line.piece.first_row || row >= line.end())
        return in.fail("a pair of a row and a value was expected");
      keep(line, path, row, json);
    }
  }
}

void TableReader::read_read_at(Line& line) {
  Scanner& in = line.in;
  std::size_t row = line.piece.first_row;
  if (line.piece.entity != Entity::Thread) return void(in.skip());
  for (in.enter('['); in.next(']'); ++row) {
    if (row == line.end()) return in.fail("read_at is too long");
    snapshot_->read_at[row] = in.number();
  }
  if (!in.failed() && row != line.end()) in.fail("read_at is too short");
}

void TableReader::read_gaps(Line& line, std::string_view json) {
  line.in = Scanner(json);
  for (line.in.enter('['); line.in.next(']');) read_pattern(line);
}

void TableReader::read_pattern(Line& line) {
  Scanner& in = line.in;
  std::vector<std::string> names;
  std::vector<std::uint64_t> runs;
  for (in.enter('{'); in.next('}');) {
    const std::string_view key = in.key();
    if (key == "columns")
      for (in.enter('['); in.next(']');) names.emplace_back(in.text());
    else if (key == "runs")
      for (in.enter('['); in.next(']');) runs.push_back(in.number());
    else
      in.skip();
    if (names.size() > limits::kColumns) return in.fail("too many columns");
  }
  for (const std::string& name : names)
    if (!in.failed()) explain(line, name, runs);
}

// Each column is explained once, so that what a line asks for is bounded by its cells.
void TableReader::explain(Line& line, const std::string& name,
                          std::span<const std::uint64_t> runs) {
  const std::size_t place = place_of(line.piece.entity, name);
  if (place == kNowhere) return;
  if (line.worker.explained[place])
    return line.in.fail("gaps of " + quoted(name) + " are there twice");
  line.worker.explained[place] = true;
  Column& column = line.table.columns[place];
  std::size_t at = 0;
  std::uint64_t left = 0;
  for (std::size_t row = line.piece.first_row; row < line.end(); ++row) {
    if (column.has_value(row)) continue;
    for (; left == 0 && at + 1 < runs.size(); at += 2) left = runs[at + 1];
    if (left-- == 0) return line.in.fail("gaps of " + quoted(name) + " are fewer than its nulls");
    const std::uint64_t code = runs[at - 2];
    const bool is_known = code != CTPROF_VALUE && code < kGapNames.size();
    column.gaps()[row] =
        is_known ? static_cast<ctprof_gap>(code) : static_cast<ctprof_gap>(CTPROF_MALFORMED);
  }
  if (left != 0 || at != runs.size())
    line.in.fail("gaps of " + quoted(name) + " are more than its nulls");
}

void TableReader::read_raw(Line& line, std::string_view json) {
  line.in = Scanner(json);
  Scanner& in = line.in;
  for (in.enter('{'); in.next('}');) {
    const std::size_t place = place_of(line.piece.entity, in.key());
    Column* column = place == kNowhere ? nullptr : &line.table.columns[place];
    if (column && column->def().storage != Storage::String) column = nullptr;
    for (in.enter('['); in.next(']');) {
      in.enter('[');
      const std::size_t row = in.next(']') ? in.number() : line.end();
      const auto bytes = unhex(in.next(']') ? in.text() : std::string_view{});
      if (in.next(']') || !bytes || row < line.piece.first_row || row >= line.end())
        return in.fail("a pair of a row and bytes in hexadecimal was expected");
      if (!column) continue;
      pool(line, bytes->size());
      column->ids()[row] = line.worker.texts.intern(*bytes);
      column->gaps()[row] = CTPROF_VALUE;
    }
  }
}

}  // namespace ctprof::columns
