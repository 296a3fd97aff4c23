#include "core/file/layout/row_notes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/file/layout/cell.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

namespace json = boost::json;

using Runs = std::vector<std::uint64_t>;  // code, count, code, count ...

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

// Columns with the same runs.
struct Pattern {
  Runs runs;
  std::vector<const Column*> columns;
};

std::vector<Pattern> patterns_of(std::span<const Column* const> columns) {
  std::vector<Pattern> patterns;
  for (const Column* column : columns) {
    Runs runs = runs_of(*column);
    if (has_only_values(runs)) continue;
    auto known = std::find_if(patterns.begin(), patterns.end(),
                              [&](const Pattern& pattern) { return pattern.runs == runs; });
    if (known == patterns.end()) known = patterns.insert(known, {std::move(runs), {}});
    known->columns.push_back(column);
  }
  return patterns;
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
Runs read_runs(const json::value& json, std::size_t rows) {
  Runs runs;
  std::uint64_t left = rows;
  if (!json.is_array() || json.get_array().size() % 2 != 0) return {};
  for (const json::value& item : json.get_array()) {
    boost::system::error_code failed;
    runs.push_back(item.to_number<std::uint64_t>(failed));
    if (failed) return {};
    if (runs.size() % 2 == 1) continue;
    if (runs.back() > left) return {};
    left -= runs.back();
    if (runs.back() == 0) runs.resize(runs.size() - 2);
  }
  return left == 0 ? runs : Runs{};
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

Result<void> apply_pattern(const json::value& pattern, const std::string& where, Table& table,
                           WorkBudget& work) {
  const json::object* object = pattern.if_object();
  const json::value* columns = object ? object->if_contains("columns") : nullptr;
  const json::value* runs = object ? object->if_contains("runs") : nullptr;
  if (!columns || !columns->is_array() || !runs)
    return Error{where + " is not an object of columns and runs"};
  const Runs read = read_runs(*runs, table.rows);
  if (read.empty() && table.rows > 0)
    return Error{where + ".runs are not pairs of a code and a count that add up to " +
                 std::to_string(table.rows) + " rows"};
  for (const json::value& name : columns->get_array()) {
    if (!name.is_string()) return Error{where + ".columns holds something other than names"};
    bool has_work = work.spend(search_cost(table));
    Column* column = table.find(std::string_view(name.get_string()));
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
  for (const Pattern& pattern : patterns_of(columns)) {
    out.raw("{\"columns\":[");
    for (const Column* column : pattern.columns) {
      out.text(column->def().name);
      out.put(',');
    }
    out.close(']');
    out.raw(",\"runs\":[");
    for (const std::uint64_t number : pattern.runs) {
      out.number(number);
      out.put(',');
    }
    out.close(']');
    out.raw("},");
  }
  out.close(']');
}

Result<void> apply_gaps(const json::value& gaps, std::string_view table_name, Table& table,
                        WorkBudget& work) {
  const json::object* tables = gaps.if_object();
  if (!tables) return Error{"gaps is not an object"};
  const json::value* patterns = tables->if_contains(table_name);
  if (!patterns) return {};
  const std::string where = "gaps." + std::string(table_name);
  if (!patterns->is_array()) return Error{where + " is not an array"};
  for (std::size_t i = 0; i < patterns->get_array().size(); ++i)
    CTPROF_TRY(apply_pattern(patterns->get_array()[i], where + "[" + std::to_string(i) + "]", table,
                             work));
  return {};
}

namespace {

namespace json = boost::json;

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

void write_hex(std::string_view bytes, JsonWriter& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.put('"');
  for (const char c : bytes) {
    out.put(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.put(kDigits[static_cast<unsigned char>(c) & 0xf]);
  }
  out.put('"');
}

std::optional<int> digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

std::optional<std::string> read_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto high = digit(hex[i]), low = digit(hex[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high << 4 | *low);
  }
  return bytes;
}

void write_text(const RawText& raw, const TextPool& texts, JsonWriter& out) {
  out.raw("{\"hex\":");
  write_hex(texts[raw.id], out);
  out.raw(",\"rows\":[");
  for (const std::uint64_t number : raw.rows) {
    out.number(number);
    out.put(',');
  }
  out.close(']');
  out.raw("},");
}

// Sets the listed rows. Returns false if the list is invalid or exceeds the work.
bool set_rows(const json::array& rows, Id id, Column& column, WorkBudget& work) {
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    boost::system::error_code failed, count_failed;
    const auto first = rows[i].to_number<std::uint64_t>(failed),
               count = rows[i + 1].to_number<std::uint64_t>(count_failed);
    if (failed || count_failed || first > column.rows() || count > column.rows() - first ||
        !work.spend(count))
      return false;
    std::fill_n(column.ids().begin() + static_cast<std::ptrdiff_t>(first), count, id);
  }
  return rows.size() % 2 == 0;
}

bool apply_text(const json::value& item, Column& column, TextPool& texts, WorkBudget& work) {
  const json::object* object = item.if_object();
  const json::value* hex = object ? object->if_contains("hex") : nullptr;
  const json::value* rows = object ? object->if_contains("rows") : nullptr;
  if (!hex || !hex->is_string() || !rows || !rows->is_array()) return false;
  const auto bytes = read_hex(hex->get_string());
  return bytes && set_rows(rows->get_array(), texts.intern(*bytes), column, work);
}

Result<void> apply_column(const json::value& list, const std::string& where, Column& column,
                          TextPool& texts, WorkBudget& work) {
  if (!list.is_array()) return Error{where + " is not an array"};
  for (const json::value& item : list.get_array())
    if (!apply_text(item, column, texts, work))
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

Result<void> apply_raw(const json::value& raw, std::string_view table_name, Table& table,
                       TextPool& texts, WorkBudget& work) {
  const json::object* tables = raw.if_object();
  const json::value* columns = tables ? tables->if_contains(table_name) : nullptr;
  if (tables && !columns) return {};
  const std::string where = "raw." + std::string(table_name);
  if (!tables || !columns->is_object()) return Error{where + " is not an object"};
  for (const auto& [name, list] : columns->get_object()) {
    Column* column = table.find(std::string_view(name));
    if (!column || column->def().storage != Storage::String) continue;
    CTPROF_TRY(apply_column(list, where + "." + std::string(name), *column, texts, work));
  }
  return {};
}

}  // namespace ctprof
