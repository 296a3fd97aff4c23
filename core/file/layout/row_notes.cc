#include "core/file/layout/row_notes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/base/text.hpp"
#include "core/file/layout/cell.hpp"
#include "core/file/layout/code_runs.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/members.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

bool all_equal(std::span<const ctprof_gap> gaps) {
  return gaps.empty() || std::memcmp(gaps.data(), gaps.data() + 1, gaps.size() - 1) == 0;
}

Runs runs_of(const Column& column) {
  const CellCodes codes(column);
  const bool gaps_are_codes =
      !codes.depend_on_value() || (column.rows() > 0 && !column.has_value(0));
  if (gaps_are_codes && column.rows() > 0 && all_equal(column.gaps()))
    return {codes[0], column.rows()};
  Runs runs;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    const std::uint8_t code = codes[row];
    if (runs.empty() || runs[runs.size() - 2] != code) runs.insert(runs.end(), {code, 0});
    ++runs.back();
  }
  return runs;
}

bool has_only_values(const Runs& runs) {
  return runs.empty() || (runs.size() <= 2 && runs[0] == CTPROF_VALUE);
}

CodeRuns group_by_runs(std::span<const Column* const> columns) {
  CodeRuns groups;
  for (const Column* column : columns)
    if (Runs runs = runs_of(*column); !has_only_values(runs)) groups.add(std::move(runs), *column);
  return groups;
}

// Applies one run of codes to a column's cells.
void set_run(Column& column, std::size_t from, std::size_t count, std::uint64_t code) {
  if (code == CTPROF_VALUE) return;
  if (code == kUnbounded && may_be_unbounded(column.def())) {
    std::fill_n(column.u64().begin() + static_cast<std::ptrdiff_t>(from), count, kNoBound);
    code = CTPROF_VALUE;
  } else if (code >= kGapNames.size()) {
    code = CTPROF_MALFORMED;
  }
  std::memset(column.gaps().data() + from, static_cast<int>(code), count);
}

// Reads pairs of code and count, and drops those with a count of zero. Returns an empty list if
// they are invalid or do not add up to `rows`.
Runs read_runs(std::string_view json, std::size_t rows) {
  Runs runs;
  std::uint64_t left = rows;
  Scanner in(json);
  if (in.peek() != '[') return {};
  for (in.enter('['); in.next(']');) {
    const auto number = read_whole_number(in);
    if (!number) return {};
    runs.push_back(*number);
    if (runs.size() % 2 == 1) continue;
    if (runs.back() > left) return {};
    left -= runs.back();
    if (runs.back() == 0) runs.resize(runs.size() - 2);
  }
  return left == 0 && runs.size() % 2 == 0 ? runs : Runs{};
}

void apply_runs(const Runs& runs, Column& column) {
  std::size_t row = 0;
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    set_run(column, row, runs[i + 1], runs[i]);
    row += runs[i + 1];
  }
}

// The work to look up a name among the columns. Comparing two names is cheap, because most differ
// early.
std::size_t search_cost(const Table& table) { return 1 + table.columns.size() / 16; }

Result<void> apply_pattern(std::string_view pattern, const std::string& where, Table& table,
                           WorkBudget& work) {
  const auto [columns, runs] = find_members(pattern, "columns", "runs");
  if (!columns.starts_with('[') || runs.empty())
    return Error{where + " is not an object of columns and runs"};
  const Runs read = read_runs(runs, table.rows);
  if (read.empty() && table.rows > 0)
    return Error{where + ".runs are not pairs of a code and a count that add up to " +
                 std::to_string(table.rows) + " rows"};
  Scanner in(columns);
  for (in.enter('['); in.next(']');) {
    if (in.peek() != '"') return Error{where + ".columns holds something other than names"};
    bool has_work = work.spend(search_cost(table));
    Column* column = table.find(in.text());
    has_work = has_work && (!column || work.spend(table.rows + read.size()));
    if (!has_work)
      return Error{where + ".columns requires more work than allowed for a file of its size"};
    if (column) apply_runs(read, *column);
  }
  return {};
}

}  // namespace

void write_gaps(std::span<const Column* const> columns, JsonWriter& out) {
  out.put('[');
  const CodeRuns by_runs = group_by_runs(columns);
  for (const auto& [runs, equal_columns] : by_runs.groups()) {
    out.raw("{\"columns\":[");
    for (const Column* column : equal_columns) {
      out.text(column->def().name);
      out.put(',');
    }
    out.close(']');
    out.raw(",\"runs\":[");
    for (const std::uint64_t number : runs) {
      out.number(number);
      out.put(',');
    }
    out.close(']');
    out.raw("},");
  }
  out.close(']');
}

Result<void> apply_gaps(std::string_view gaps, std::string_view table_name, Table& table,
                        WorkBudget& work) {
  const std::string where = "gaps." + std::string(table_name);
  Scanner in(gaps);
  if (in.peek() != '[') return Error{where + " is not an array"};
  std::size_t place = 0;
  for (in.enter('['); in.next(']'); ++place)
    CTPROF_TRY(apply_pattern(in.skip(), where + "[" + std::to_string(place) + "]", table, work));
  return {};
}

namespace {

using RowRuns = std::vector<std::uint64_t>;  // first row, count, first row, count ...

// An invalid text and the rows that have it.
struct RawText {
  Id id = 0;
  RowRuns rows;
};

// Returns the invalid texts of a column, in the order in which they first appear.
std::vector<RawText> raw_texts(const Column& column, std::span<const Id> invalid) {
  std::vector<RawText> found;
  std::unordered_map<Id, std::size_t> places;  // index in `found`
  for (std::size_t row = 0; row < column.rows(); ++row) {
    const Id id = column.ids()[row];
    if (!column.has_value(row) || !std::binary_search(invalid.begin(), invalid.end(), id)) continue;
    const auto [place, is_new] = places.try_emplace(id, found.size());
    if (is_new) found.push_back({id, {}});
    RowRuns& rows = found[place->second].rows;
    if (rows.empty() || rows[rows.size() - 2] + rows.back() != row)
      rows.insert(rows.end(), {row, 0});
    ++rows.back();
  }
  return found;
}

void write_text(const RawText& raw, const TextPool& texts, JsonWriter& out) {
  out.raw("{\"hex\":");
  out.text(to_hex(texts[raw.id]));
  out.raw(",\"rows\":[");
  for (const std::uint64_t number : raw.rows) {
    out.number(number);
    out.put(',');
  }
  out.close(']');
  out.raw("},");
}

// Sets the listed rows. Returns false if the list is invalid or exceeds the work.
bool set_rows(std::string_view rows, Id id, Column& column, WorkBudget& work) {
  Scanner in(rows);
  if (in.peek() != '[') return false;
  for (in.enter('['); in.next(']');) {
    const auto first = read_whole_number(in);
    if (!in.next(']')) return false;
    const auto count = read_whole_number(in);
    if (!first || !count || *first > column.rows() || *count > column.rows() - *first ||
        !work.spend(*count))
      return false;
    std::fill_n(column.ids().begin() + static_cast<std::ptrdiff_t>(*first), *count, id);
  }
  return true;
}

bool apply_text(std::string_view item, Column& column, TextPool& texts, WorkBudget& work) {
  const auto [hex, rows] = find_members(item, "hex", "rows");
  if (!hex.starts_with('"')) return false;
  const auto bytes = from_hex(Scanner(hex).text());
  return bytes && set_rows(rows, texts.intern(*bytes), column, work);
}

Result<void> apply_column(std::string_view list, const std::string& where, Column& column,
                          TextPool& texts, WorkBudget& work) {
  Scanner in(list);
  if (in.peek() != '[') return Error{where + " is not an array"};
  for (in.enter('['); in.next(']');)
    if (!apply_text(in.skip(), column, texts, work))
      return Error{where +
                   " has an invalid item (each has hexadecimal bytes, and pairs of a row and a "
                   "count), or requires more work than allowed for a file of its size"};
  return {};
}

}  // namespace

std::vector<Id> invalid_texts(const TextPool& texts) {
  std::vector<Id> invalid;
  for (Id id = 0; id < texts.size(); ++id)
    if (!is_utf8(texts[id])) invalid.push_back(id);
  return invalid;
}

void write_raw(std::span<const Column* const> columns, std::span<const Id> invalid,
               const TextPool& texts, JsonWriter& out) {
  out.put('{');
  for (const Column* column : columns) {
    if (invalid.empty() || column->def().storage != Storage::String) continue;
    const std::vector<RawText> found = raw_texts(*column, invalid);
    if (found.empty()) continue;
    out.key(column->def().name);
    out.put('[');
    for (const RawText& raw : found) write_text(raw, texts, out);
    out.close(']');
    out.put(',');
  }
  out.close('}');
}

Result<void> apply_raw(std::string_view raw, std::string_view table_name, Table& table,
                       TextPool& texts, WorkBudget& work) {
  const std::string where = "raw." + std::string(table_name);
  Scanner in(raw);
  if (in.peek() != '{') return Error{where + " is not an object"};
  for (in.enter('{'); in.next('}');) {
    const std::string name(in.key());
    if (!work.spend(search_cost(table)))
      return Error{where + " requires more work than allowed for a file of its size"};
    Column* column = table.find(name);
    const std::string_view list = in.skip();
    if (column && column->def().storage == Storage::String)
      CTPROF_TRY(apply_column(list, where + "." + name, *column, texts, work));
  }
  return {};
}

}  // namespace ctprof
