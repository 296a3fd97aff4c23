// Writes and reads the rows of one table as a line of JSON.
//
//   {"kind":"table","entity":"thread","first_row":2048,
//    "columns":{"tid":[7,8],"comm":["a","b"],"wait_sum":[null,12],
//               "cpu_affinity":["0-3,8","0"],"process.smaps_rollup":[{"Rss":4},null]},
//    "gaps":[{"columns":["wait_sum"],"runs":[5,1]}],     why nulls are null
//    "raw":{"comm":[[2049,"62ff"]]},                     exact bytes of texts that are not UTF-8
//    "read_at":[1200,1300],                              ns after the capture's start
//    "bases":{"run_time_ns":[900,null]},                 in a window: the values at its opening
//    "newer_bases":{"cpu_wait_histogram_ns":[[0,3]]},    the same, of newer newtypes
//    "base_raw":{},
//    "base_gaps":[{"columns":["run_time_ns"],"runs":[13,1]}],
//    "born":[2049],                                      rows that started inside the window
//    "seen":[[1200,91300],[40,91310]],                   first and last, ns after the opening
//    "unknown":{"a.b":[[2048,{}]]}}                      unknown keys, by row
//
// kind, entity and first_row come first. A column without a value in these rows is absent. Bases of
// a column are left out if they equal the values at the end in all of these rows. A column whose
// newtype this version does not know is a column like any other, except that its bases are among
// `newer_bases`: older versions skip these, but reject bases of a metric that they do not know.
//
// Lines of kind `exited` contain threads that exited inside a window, and follow the living
// threads. Lines of kind `opening` contain rows that only the opening of a window has
// (Window::opening_only), and follow the stacks. They have neither bases nor times. Their keys may
// be in any order, because older versions keep such lines with sorted keys.
//
// `runs` are pairs of a code and the number of the column's nulls with that code, in row order. A
// column that no source filled needs no runs, because the header contains the reason. A null
// without a reason is NotInFile.
//
// An unlimited limit is 18446744073709551615, a set of CPUs is a list of ranges, and a set of
// stacks is its total weight (stack_lines.hpp). A map is an object if its metric names the keys;
// otherwise it is a list of [key, value], because a query cannot select keys that it does not know.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/columns/cell_reader.hpp"
#include "core/file/columns/unknown_paths.hpp"
#include "core/file/layout/code_runs.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

struct GapPattern;

inline constexpr std::string_view kOpeningLine = "opening";

// Returns whether older versions of this format do not know the metric's newtype.
bool has_newer_newtype(const MetricDef& def);

// The position of a kept line of an unknown entity.
struct UnknownLinePosition {
  std::size_t table = 0;  // index in the list of UnknownRows
  std::size_t line = 0;   // index in its lines
};

// The rows of a table that one line contains.
struct TableSlice {
  Entity entity = Entity::Thread;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  bool is_exited = false;        // the rows are threads that exited inside a window
  bool is_opening_only = false;  // only the opening of a window has these rows
  std::optional<UnknownLinePosition> unknown_position{};  // if set, `entity` has no meaning
  Rows range() const { return {first_row, rows}; }
  std::string_view kind() const {
    return is_opening_only ? kOpeningLine : is_exited ? "exited" : "table";
  }
};

// Returns the error for a line that is not the table that `slice` announces. It continues a message
// about the line.
Error unexpected_table_error(const TableSlice& slice, std::string_view entity);

// Writes table lines of one snapshot. Threads: any number concurrently. REQUIRES: the snapshot
// outlives it and does not change.
class TableWriter {
 public:
  explicit TableWriter(const Snapshot& snapshot);
  void write(const TableSlice& slice, JsonWriter& out) const;

 private:
  template <class Value>
  using ByName = std::unordered_map<std::string_view, Value, SeededHash>;

  void write_columns(const TableSlice& slice, JsonWriter& out, CodeRuns& gaps) const;
  void write_column(const Column& column, const TableSlice& slice, JsonWriter& out,
                    CodeRuns& gaps) const;
  void write_gaps(std::string_view key, const CodeRuns& gaps, JsonWriter& out) const;
  void write_bases(const TableSlice& slice, JsonWriter& out, CodeRuns& gaps) const;
  void write_window(const TableSlice& slice, JsonWriter& out) const;
  void write_kept_column(const std::string& name, const KeptKeys& kept, const std::string& path,
                         const TableSlice& slice, JsonWriter& out) const;
  void write_raw(std::string_view key, const std::deque<Column>& columns, const TableSlice& slice,
                 JsonWriter& out) const;
  void write_read_at(const TableSlice& slice, JsonWriter& out) const;
  void write_unknown(const TableSlice& slice, JsonWriter& out) const;

  const Snapshot* snapshot_;
  std::vector<Id> invalid_texts_;                         // texts that are not UTF-8, ascending
  std::array<ByName<const Column*>, kEntities> columns_;  // of a window
  std::array<std::unordered_set<std::string_view, SeededHash>, kEntities> unknown_metric_paths_;
};

// Fills the tables of one snapshot. Threads: any number concurrently, each with its own Worker and
// its own lines.
class TableReader {
 public:
  using RowsByEntity = std::array<std::size_t, kEntities>;
  // The state of one thread. REQUIRES: both outlive it.
  struct Worker {
    Worker(Snapshot& snapshot, TableReader& tables) : cells(*snapshot.pools, tables.budget_) {}
    CellReader cells;
    std::vector<bool> seen, has_gaps;  // by column: whether the line contains it, and its gaps
    std::vector<bool> base_seen, base_has_gaps;
  };

  // Resizes the tables to `rows`. REQUIRES: they have columns without rows; the snapshot outlives
  // this object. Fails if the rows take more memory than a file with `text_bytes` of text may use.
  static Result<void> prepare(Snapshot& snapshot, const RowsByEntity& rows, std::size_t text_bytes);
  // REQUIRES: prepare() was called with the same `text_bytes`.
  TableReader(Snapshot& snapshot, std::size_t text_bytes);

  // Reads a line, which must contain exactly these rows. The error describes what is wrong with it.
  Result<void> read(std::string_view line, const TableSlice& slice, Worker& worker);
  // Return whether a line contained the times at which its rows were read, or seen.
  bool has_read_times() const { return has_read_times_; }
  bool has_seen_times() const { return has_seen_times_; }
  // Returns the budget, which the block's other lines share because they use the same pools.
  PoolBudget& budget() { return budget_; }

 private:
  struct Line;
  using ColumnIndexes = std::unordered_map<std::string_view, std::size_t, SeededHash>;
  // Columns that a part of a line fills: those of a table, or their values at the opening.
  struct ColumnSet {
    std::deque<Column>* columns;
    const ColumnIndexes* indexes;
    std::vector<bool>*seen, *has_gaps;
    Column* find(std::string_view name, std::size_t& place) const;
  };
  static constexpr std::size_t kNotFound = SIZE_MAX;

  bool read_member(Line& line, std::string_view key);
  void read_columns(Line& line);
  void read_bases(Line& line);
  void read_started(Line& line);
  void read_seen(Line& line);
  void read_unknown_column(Line& line, const std::string& name);
  void read_unknown_base(Line& line, const std::string& name);
  void read_gaps_of_unknown_base(Line& line, const std::string& name);
  KeptKeys& unknown_keys(const Line& line);
  KeptKeys& unknown_bases(const Line& line);
  void read_unknown_keys(Line& line);
  void keep_cell(Line& line, KeptKeys& kept, const std::string& path, std::size_t row,
                 std::string_view json);
  void read_read_times(Line& line);
  void read_gaps(Line& line, std::string_view text, const ColumnSet& target);
  void apply_gap_pattern(Line& line, const GapPattern& pattern, const ColumnSet& target);
  ColumnSet table_columns(Line& line);
  ColumnSet opening_columns(Line& line);
  void copy_ends_to_bases(Line& line);
  void read_raw(Line& line, std::string_view text, const ColumnSet& target);
  void read_raw_text(Line& line, Column* column);
  std::size_t column_index(Entity entity, std::string_view column) const;

  Snapshot* snapshot_;
  std::array<ColumnIndexes, kEntities> column_indexes_, base_indexes_;
  UnknownPaths unknown_paths_;
  PoolBudget budget_;
  std::atomic<bool> has_read_times_{false}, has_seen_times_{false};
  std::mutex unknown_keys_mutex_;  // guards the snapshot's unknown keys
};

}  // namespace ctprof::columns
