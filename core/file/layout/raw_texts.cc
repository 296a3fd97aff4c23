#include "core/file/layout/raw_texts.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

namespace json = boost::json;

using RowRuns = std::vector<std::uint64_t>;  // first row, count, first row, count ...

struct RawText {
  Id id = 0;
  RowRuns rows;
};

// The invalid texts of a column, in the order in which they first appear.
std::vector<RawText> raw_texts(const Column& column, std::span<const Id> invalid) {
  std::vector<RawText> found;
  std::unordered_map<Id, std::size_t> places;  // in `found`
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

// Sets the rows that `rows` names; false when it is not what it should be, or names more than it
// may.
bool set_rows(const json::array& rows, Id id, Column& column, Work& work) {
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    boost::system::error_code failed, failed_too;
    const auto first = rows[i].to_number<std::uint64_t>(failed),
               count = rows[i + 1].to_number<std::uint64_t>(failed_too);
    if (failed || failed_too || first > column.rows() || count > column.rows() - first ||
        !work.spend(count))
      return false;
    std::fill_n(column.ids().begin() + static_cast<std::ptrdiff_t>(first), count, id);
  }
  return rows.size() % 2 == 0;
}

bool apply_text(const json::value& item, Column& column, TextPool& texts, Work& work) {
  const json::object* object = item.if_object();
  const json::value* hex = object ? object->if_contains("hex") : nullptr;
  const json::value* rows = object ? object->if_contains("rows") : nullptr;
  if (!hex || !hex->is_string() || !rows || !rows->is_array()) return false;
  const auto bytes = read_hex(hex->get_string());
  return bytes && set_rows(rows->get_array(), texts.intern(*bytes), column, work);
}

Result<void> apply_column(const json::value& list, const std::string& where, Column& column,
                          TextPool& texts, Work& work) {
  if (!list.is_array()) return Error{where + " is not an array"};
  for (const json::value& item : list.get_array())
    if (!apply_text(item, column, texts, work))
      return Error{where +
                   " has an item that is not hexadecimal bytes and the rows of them, or asks for "
                   "more work than a file of its size may"};
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
                       TextPool& texts, Work& work) {
  const json::object* tables = raw.if_object();
  const json::value* columns = tables ? tables->if_contains(table_name) : nullptr;
  if (tables && !columns) return {};
  const std::string where = "raw." + std::string(table_name);
  if (!tables || !columns->is_object()) return Error{where + " is not an object"};
  for (const auto& [name, list] : columns->get_object()) {
    Column* column = table.find(std::string_view(name));
    if (!column || column->def().storage != Storage::String) continue;
    if (auto done = apply_column(list, where + "." + std::string(name), *column, texts, work);
        !done)
      return done;
  }
  return {};
}

}  // namespace ctprof
