// Rows of one table as a line of JSON, and back.
//
//   {"kind":"table","entity":"thread","first_row":2048,
//    "columns":{"tid":[7,8],"comm":["a","b"],"wait_sum":[null,12],
//               "cpu_affinity":["0-3,8","0"],"process.smaps_rollup":[{"Rss":4},null]},
//    "gaps":[{"columns":["wait_sum"],"runs":[5,1]}],     why nulls are null
//    "raw":{"comm":[[2049,"62ff"]]},                     exact bytes of texts that are not UTF-8
//    "read_at":[1200,1300],                              ns after the capture's start
//    "unknown":{"a.b":[[2048,{}]]}}                      keys that nobody knows, by row
//
// kind, entity and first_row come first. A column without a value in these rows is absent. `runs`
// are pairs of a code and how many of the column's nulls have it, in their order; those of a column
// that nobody filled need no mention, because the header says why. A null that nothing explains is
// NotInFile.
//
// Numbers are as they are, a limit without bound is 18446744073709551615, a set of CPUs a list of
// ranges. A map whose keys its metric names is an object; another one a list of [key, value],
// because a query cannot ask for keys that it does not know.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/columns/scanner.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Which rows a line has.
struct Piece {
  Entity entity = Entity::Thread;
  std::size_t first_row = 0;
  std::size_t rows = 0;
};

// Writes pieces of one snapshot, on any number of threads at once. REQUIRES: the snapshot outlives
// it and does not change.
class TableWriter {
 public:
  explicit TableWriter(const Snapshot& snapshot);
  void write(const Piece& piece, JsonWriter& out) const;

 private:
  struct Pattern;
  void write_columns(const Piece& piece, JsonWriter& out, std::vector<Pattern>& gaps) const;
  void write_raw(const Piece& piece, JsonWriter& out) const;
  void write_read_at(const Piece& piece, JsonWriter& out) const;
  void write_unknown(const Piece& piece, JsonWriter& out) const;

  const Snapshot* snapshot_;
  std::vector<Id> invalid_;  // texts that are not UTF-8, ascending
};

// Fills the tables of one snapshot, on any number of threads at once, each with a way into the
// pools of its own and pieces of its own.
class TableReader {
 public:
  struct Rows {
    std::array<std::size_t, kEntities> of{};
  };
  // What one thread needs.
  struct Worker {
    explicit Worker(Snapshot& snapshot) : texts(snapshot.pools->texts) {}
    TextCache texts;
    std::unordered_map<std::string, ctprof_text, SeededHash> keys;  // of maps, in the pool
    std::vector<std::uint64_t> words;
    std::vector<ctprof_entry> entries;
    std::vector<bool> seen, explained;  // columns of this line, and of its gaps, by place
    std::string last_text;              // of this column: texts repeat from row to row
    Id last_id = 0;
    bool has_last = false;
  };

  // The tables get so many rows. REQUIRES: they have their columns, without rows; the snapshot
  // outlives this. Fails where that would take more memory than a file with so much text may.
  static Result<void> prepare(Snapshot& snapshot, const Rows& rows, std::size_t text_bytes);
  // REQUIRES: prepared with the same figure.
  TableReader(Snapshot& snapshot, std::size_t text_bytes);

  // Reads the line, which must be of that piece. The error says what is wrong with it.
  Result<void> read(std::string_view line, const Piece& piece, Worker& worker);

 private:
  struct Line;
  void read_columns(Line& line);
  void read_column(Line& line, Column& column);
  void read_unknown_column(Line& line, const std::string& name);
  void read_gaps(Line& line, std::string_view json);
  void read_pattern(Line& line);
  void read_raw(Line& line, std::string_view json);
  void read_read_at(Line& line);
  void read_unknown(Line& line);
  void keep(Line& line, const std::string& path, std::size_t row, std::string_view json);
  void pool(Line& line, std::size_t bytes);
  bool is_last(Line& line, Column& column, std::size_t row, std::string_view text);
  void set_last(Line& line, Column& column, std::size_t row, std::string_view text, Id id);
  void add_key(Line& line, std::string_view key);
  void explain(Line& line, const std::string& name, std::span<const std::uint64_t> runs);
  static constexpr std::size_t kNowhere = SIZE_MAX;
  std::size_t place_of(Entity entity, std::string_view column) const;
  void read_text(Line& line, Column& column, std::size_t row);
  void read_bits(Line& line, Column& column, std::size_t row);
  void read_array(Line& line, Column& column, std::size_t row);
  void read_map(Line& line, Column& column, std::size_t row);
  void read_cell(Line& line, Column& column, std::size_t row);

  Snapshot* snapshot_;
  std::array<std::unordered_map<std::string_view, std::size_t, SeededHash>, kEntities> places_;
  std::size_t most_pooled_;
  std::atomic<std::size_t> pooled_{0};  // bytes that pools and kept keys take, counted generously
  std::mutex keeping_;                  // of the snapshot's unknown keys
};

}  // namespace ctprof::columns
