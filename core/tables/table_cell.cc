#include "core/tables/table_cell.hpp"

#include <string>

#include "core/base/cpu_ranges.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/rules/histograms.hpp"

namespace ctprof {
namespace {

std::string_view to_view(ctprof_text text) { return {text.data, text.size}; }

void put_nulls(int count, TextRowWriter& out) {
  for (int i = 0; i < count; ++i) out.null();
}

// Writes `value` and `exact`.
void put_value_and_exact(std::uint64_t number, TextRowWriter& out) {
  out.number(number);
  out.number(number);
}

// Writes nulls for the fields after `exact`.
void put_empty_text_fields(TextRowWriter& out) { put_nulls(3, out); }

}  // namespace

TableCells::TableCells(const Column* column, const Pools& pools, std::string_view part)
    : column_(column), pools_(&pools), part_(part) {
  if (column) codes_.emplace(*column);
}

Gap TableCells::get_gap(std::size_t row) const {
  if (!column_) return Gap::NotInFile;
  const std::uint8_t code = (*codes_)[row];
  return code == kUnbounded ? Gap::None : static_cast<Gap>(code);
}

std::optional<std::string_view> TableCells::get_invalid_text(std::size_t row) const {
  if (get_gap(row) != Gap::None || storage() != Storage::String) return std::nullopt;
  const std::string_view text = pools_->texts[column_->ids()[row]];
  return is_utf8(text) ? std::nullopt : std::optional(text);
}

void TableCells::put_map(std::size_t row, TextRowWriter& out) const {
  JsonWriter json(Escape::Unprintable);
  json.put('{');
  for (const ctprof_entry& entry : pools_->maps[column_->ids()[row]])
    json.member(to_view(entry.key), entry.value);
  json.close('}');
  out.json(json.view());
}

void TableCells::put_array(std::size_t row, TextRowWriter& out) const {
  JsonWriter json(Escape::Unprintable);
  json.put('[');
  for (const std::uint64_t number : pools_->words[column_->ids()[row]]) {
    json.number(number);
    json.put(',');
  }
  json.close(']');
  out.json(json.view());
}

// An empty histogram has a count and no other part.
void TableCells::put_histogram_part(std::size_t row, TextRowWriter& out) const {
  for (const auto& part : rules::histogram_parts(pools_->words[column_->ids()[row]]))
    if (part.name == part_)
      return has_value(part.number) ? out.number(part.number.u64) : out.null();
}

void TableCells::put(std::size_t row, TextRowWriter& out) const {
  if (get_gap(row) != Gap::None) return out.null();
  if (!part_.empty()) return put_histogram_part(row, out);
  switch (storage()) {
    case Storage::U64: return out.number(column_->u64()[row]);
    case Storage::I64: return out.number(column_->i64()[row]);
    case Storage::F64: return out.number(column_->f64()[row]);
    case Storage::Bool: return out.boolean(column_->bools()[row] != 0);
    case Storage::String: return out.text(pools_->texts[column_->ids()[row]]);
    case Storage::Bitset: return out.text(format_cpu_ranges(pools_->words[column_->ids()[row]]));
    case Storage::Map: return put_map(row, out);
    case Storage::Array: return put_array(row, out);
    case Storage::Stacks: return out.number(total_weight(pools_->stacks[column_->ids()[row]]));
  }
}

// REQUIRES: the cell has a value.
void TableCells::put_value(std::size_t row, TextRowWriter& out) const {
  switch (storage()) {
    case Storage::U64: put_value_and_exact(column_->u64()[row], out); break;
    case Storage::Bool: put_value_and_exact(column_->bools()[row] != 0, out); break;
    case Storage::Stacks:
      put_value_and_exact(total_weight(pools_->stacks[column_->ids()[row]]), out);
      break;
    case Storage::I64: {
      const std::int64_t number = column_->i64()[row];
      out.number(number);
      number < 0 ? out.null() : out.number(static_cast<std::uint64_t>(number));
      break;
    }
    case Storage::F64:
      out.number(column_->f64()[row]);
      out.null();
      break;
    case Storage::String:
    case Storage::Bitset:
    case Storage::Map:
    case Storage::Array: {
      put_nulls(2, out);
      put(row, out);
      const auto invalid_text = get_invalid_text(row);
      invalid_text ? out.text(to_hex(*invalid_text)) : out.null();
      return out.null();
    }
  }
  put_empty_text_fields(out);
}

void TableCells::put_long(std::size_t row, const std::function<void()>& begin,
                          const std::function<void(std::optional<std::string_view>)>& end,
                          TextRowWriter& out) const {
  if (!part_.empty()) return;
  const Gap reason = get_gap(row);
  const auto put_part = [&](std::string_view key, std::uint64_t number) {
    begin();
    out.text(key);
    put_value_and_exact(number, out);
    put_empty_text_fields(out);
    end(key);
    out.end_row();
  };
  if (reason == Gap::None && storage() == Storage::Map) {
    const auto entries = pools_->maps[column_->ids()[row]];
    for (const ctprof_entry& entry : entries) put_part(to_view(entry.key), entry.value);
    if (!entries.empty()) return;
  }
  if (reason == Gap::None && is_histogram(column_->def())) {
    for (const auto& part : rules::histogram_parts(pools_->words[column_->ids()[row]]))
      if (has_value(part.number)) put_part(part.name, part.number.u64);
    return;
  }
  if (reason == Gap::None && storage() == Storage::Array) {
    const auto numbers = pools_->words[column_->ids()[row]];
    for (std::size_t i = 0; i < numbers.size(); ++i) put_part(std::to_string(i), numbers[i]);
    if (!numbers.empty()) return;
  }
  begin();
  out.null();
  if (reason == Gap::None) {
    put_value(row, out);
  } else {
    put_nulls(4, out);
    out.text(name(reason));
  }
  end(std::nullopt);
  out.end_row();
}

}  // namespace ctprof
