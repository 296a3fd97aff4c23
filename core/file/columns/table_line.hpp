// Rows of one table as a line of JSON, and back.
//
//   {"kind":"table","entity":"thread","first_row":2048,
//    "columns":{"tid":[7,8],"comm":["a","b"],"wait_sum":[null,12],
//               "cpu_affinity":["0-3,8","0"],"process.smaps_rollup":[{"Rss":4},null]},
//    "gaps":[{"columns":["wait_sum"],"runs":[5,1]}],     why nulls are null
//    "raw":{"comm":[[2049,"62ff"]]},                     exact bytes of texts that are not UTF-8
//    "read_at":[1200,1300],                              ns after the capture's start
//    "bases":{"run_time_ns":[900,null]},                 of a window: what they were at its opening
//    "base_raw":{},
//    "base_gaps":[{"columns":["run_time_ns"],"runs":[13,1]}],
//    "born":[2049],                                      rows that were born inside the window
//    "seen":[[1200,91300],[40,91310]],                   ns after the opening, when first and last
//    "unknown":{"a.b":[[2048,{}]]}}                      keys that nobody knows, by row
//
// Rows of threads that ended inside a window are lines of kind `exited`, behind those that live.
// Rows that only the opening of a window has (Window::opening_only) are lines of kind `opening`,
// behind the stacks; they have neither bases nor times. Their keys may be in any order, because
// older versions keep such lines with sorted keys.
// Bases of a column that equal its end in all of these rows are left out.
// kind, entity and first_row come first. A column without a value in these rows is absent. `runs`
// are pairs of a code and how many of the column's nulls have it, in their order; those of a column
// that nobody filled need no mention, because the header says why. A null that nothing explains is
// NotInFile. A metric whose newtype this version does not know is a column all the same.
//
// Numbers are as they are, a limit without bound is 18446744073709551615, a set of CPUs a list of
// ranges, stacks what they weigh together (stack_lines.hpp). A map whose keys its metric names is
// an object; another one a list of [key, value], because a query cannot ask for keys that it does
// not know.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/columns/cell_reader.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

struct GapPattern;

inline constexpr std::string_view kOpeningLine = "opening";

// Where a line of an entity that this version does not know is kept.
struct UnknownPlace {
  std::size_t table = 0;  // in the list of UnknownRows
  std::size_t line = 0;   // in its lines
};

// Which rows a line has.
struct Piece {
  Entity entity = Entity::Thread;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  bool ended = false;                     // of threads that ended inside a window
  bool opening_only = false;              // of rows that only the opening of a window has
  std::optional<UnknownPlace> unknown{};  // then `entity` has no meaning
  Rows range() const { return {first_row, rows}; }
  std::string_view kind() const { return opening_only ? kOpeningLine : ended ? "exited" : "table"; }
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
  void write_column(const Column& column, const Piece& piece, JsonWriter& out,
                    std::vector<Pattern>& gaps) const;
  void write_gaps(std::string_view key, const std::vector<Pattern>& gaps, JsonWriter& out) const;
  void write_window(const Piece& piece, JsonWriter& out) const;
  void write_strange_column(const UnknownMetric& metric, const Piece& piece, JsonWriter& out) const;
  bool is_column(Entity entity, std::string_view path) const;
  void write_raw(std::string_view key, const std::deque<Column>& columns, const Piece& piece,
                 JsonWriter& out) const;
  void write_read_at(const Piece& piece, JsonWriter& out) const;
  void write_unknown(const Piece& piece, JsonWriter& out) const;

  const Snapshot* snapshot_;
  std::vector<Id> invalid_;  // texts that are not UTF-8, ascending
};

// Fills the tables of one snapshot, on any number of threads at once, each with a way into the
// pools of its own and pieces of its own.
class TableReader {
 public:
  using RowsByEntity = std::array<std::size_t, kEntities>;
  // What one thread needs. REQUIRES: both outlive it.
  struct Worker {
    Worker(Snapshot& snapshot, TableReader& tables) : cells(*snapshot.pools, tables.budget_) {}
    CellReader cells;
    std::vector<bool> seen, explained;  // columns of this line, and of its gaps, by place
    std::vector<bool> base_seen, base_explained;
  };

  // The tables get so many rows. REQUIRES: they have their columns, without rows; the snapshot
  // outlives this. Fails where that would take more memory than a file with so much text may.
  static Result<void> prepare(Snapshot& snapshot, const RowsByEntity& rows, std::size_t text_bytes);
  // REQUIRES: prepared with the same figure.
  TableReader(Snapshot& snapshot, std::size_t text_bytes);

  // Reads the line, which must be of that piece. The error says what is wrong with it.
  Result<void> read(std::string_view line, const Piece& piece, Worker& worker);
  // Whether a line said when its rows were read, or seen.
  bool met_read_at() const { return met_read_at_; }
  bool met_seen() const { return met_seen_; }
  // For what else of the block goes into its pools.
  PoolBudget& budget() { return budget_; }

 private:
  struct Line;
  using Places = std::unordered_map<std::string_view, std::size_t, SeededHash>;
  // Columns that a part of a line fills: those of a table, or what they were at the opening.
  struct Target {
    std::deque<Column>* columns;
    const Places* places;
    std::vector<bool>*seen, *explained;
    Column* find(std::string_view name, std::size_t& place) const;
  };
  static constexpr std::size_t kNowhere = SIZE_MAX;

  bool read_member(Line& line, std::string_view key);
  void read_columns(Line& line);
  void read_bases(Line& line);
  void read_born(Line& line);
  void read_seen(Line& line);
  void read_strange_column(Line& line, const std::string& name);
  void read_unknown(Line& line);
  void keep(Line& line, const std::string& path, std::size_t row, std::string_view json);
  void read_read_at(Line& line);
  void read_gaps(Line& line, std::string_view text, const Target& target);
  void explain(Line& line, const GapPattern& pattern, const Target& target);
  Target table_of(Line& line);
  Target opening_of(Line& line);
  void take_ends(Line& line);
  void read_raw(Line& line, std::string_view text, const Target& target);
  void read_raw_text(Line& line, Column* column);
  std::size_t place_of(Entity entity, std::string_view column) const;
  std::string path_of(Entity entity, const std::string& column) const;

  Snapshot* snapshot_;
  std::array<Places, kEntities> places_, base_places_;
  PoolBudget budget_;
  std::atomic<bool> met_read_at_{false}, met_seen_{false};
  std::mutex keeping_;  // of the snapshot's unknown keys
};

}  // namespace ctprof::columns
