#include "core/file/columns/cell_reader.hpp"

#include <algorithm>
#include <functional>

#include "core/base/cpu_ranges.hpp"
#include "core/file/layout/cell.hpp"

namespace ctprof::columns {
namespace {

constexpr auto kNotInFile = static_cast<ctprof_gap>(Gap::NotInFile);

void fail_range(Scanner& in, const Column& column) {
  in.fail("a value is out of range for " + column.def().newtype);
}

bool is_before(const ctprof_entry& a, const ctprof_entry& b) {
  return std::string_view(a.key.data, a.key.size) < std::string_view(b.key.data, b.key.size);
}

}  // namespace

std::string quoted(std::string_view name) {
  constexpr std::size_t kShown = 80;
  return "'" + std::string(name.substr(0, kShown)) + "'";
}

void CellReader::read(Scanner& in, const Rows& rows, Column& column) {
  const Bounds bounds = bounds_of(column.def());
  const bool is_plain = column.def().storage == Storage::U64;
  std::size_t row = rows.first;
  has_last_ = false;
  for (in.enter('['); in.next(']'); ++row) {
    if (row == rows.end()) return in.fail("column " + quoted(column.def().name) + " is too long");
    if (in.null()) {
      column.gaps()[row] = kNotInFile;
      continue;
    }
    column.gaps()[row] = CTPROF_VALUE;
    if (!is_plain) {
      read_cell(in, column, row);
      continue;
    }
    const std::uint64_t value = in.number();
    if (value > bounds.most) return fail_range(in, column);
    column.u64()[row] = value;
  }
  if (!in.failed() && row != rows.end())
    in.fail("column " + quoted(column.def().name) + " has " + std::to_string(row - rows.first) +
            " cells, not " + std::to_string(rows.count) + ", and ends");
}

void CellReader::read_cell(Scanner& in, Column& column, std::size_t row) {
  switch (column.def().storage) {
    case Storage::U64: column.u64()[row] = in.number(); return;
    case Storage::I64: return read_signed(in, column, row);
    case Storage::F64: column.f64()[row] = in.real(); return;
    case Storage::Bool: column.bools()[row] = in.boolean(); return;
    case Storage::String: return read_text(in, column, row);
    case Storage::Bitset: return read_bits(in, column, row);
    case Storage::Array: return read_array(in, column, row);
    case Storage::Map: return read_map(in, column, row);
  }
}

void CellReader::read_signed(Scanner& in, Column& column, std::size_t row) {
  const Bounds bounds = bounds_of(column.def());
  const std::int64_t value = in.signed_number();
  if (value < bounds.least || (value > 0 && static_cast<std::uint64_t>(value) > bounds.most))
    return fail_range(in, column);
  column.i64()[row] = value;
}

// Texts repeat from row to row, and then cost nothing.
bool CellReader::is_last(std::string_view text, Column& column, std::size_t row) const {
  if (!has_last_ || last_text_ != text) return false;
  column.ids()[row] = last_id_;
  return true;
}

void CellReader::set_last(std::string_view text, Id id, Column& column, std::size_t row) {
  last_text_ = text;
  last_id_ = id;
  has_last_ = true;
  column.ids()[row] = id;
}

void CellReader::read_text(Scanner& in, Column& column, std::size_t row) {
  const std::string_view text = in.text();
  if (text.size() > limits::kTextBytes) return in.fail("a text is too long");
  if (is_last(text, column, row)) return;
  budget_->spend(text.size(), in);
  set_last(text, texts_.intern(text), column, row);
}

void CellReader::put_text(Scanner& in, std::string_view bytes, Column& column, std::size_t row) {
  if (bytes.size() > limits::kTextBytes) return in.fail("a text is too long");
  budget_->spend(bytes.size(), in);
  column.ids()[row] = texts_.intern(bytes);
  column.gaps()[row] = CTPROF_VALUE;
}

void CellReader::read_bits(Scanner& in, Column& column, std::size_t row) {
  const std::string_view text = in.text();
  if (is_last(text, column, row)) return;
  if (!parse_cpu_ranges(text, limits::kItems, words_))
    return in.fail("a set of CPUs was expected, as \"0-3,8\",");
  budget_->spend(words_.size() * sizeof words_[0], in);
  set_last(text, pools_->words.intern(words_), column, row);
}

void CellReader::read_array(Scanner& in, Column& column, std::size_t row) {
  words_.clear();
  for (in.enter('['); in.next(']'); words_.push_back(in.number()))
    if (words_.size() == limits::kItems) return in.fail("an array has too many items");
  budget_->spend(words_.size() * sizeof words_[0], in);
  column.ids()[row] = pools_->words.intern(words_);
}

void CellReader::read_map(Scanner& in, Column& column, std::size_t row) {
  entries_.clear();
  read_entries(in);
  budget_->spend(0, in);
  if (in.failed()) return;
  const bool ascends = std::adjacent_find(entries_.begin(), entries_.end(),
                                          std::not_fn(is_before)) == entries_.end();
  column.ids()[row] =
      ascends ? pools_->maps.append_pooled(entries_) : pools_->maps.append(entries_, pools_->texts);
}

void CellReader::read_entries(Scanner& in) {
  if (in.peek() == '{') {
    for (in.enter('{'); in.next('}'); add_value(in)) add_key(in, in.key());
    return;
  }
  for (in.enter('['); in.next(']');) {
    in.enter('[');
    if (!in.next(']')) return in.fail("a pair of a key and a value was expected");
    add_key(in, in.text());
    if (!in.next(']')) return in.fail("a value was expected behind its key");
    add_value(in);
    if (in.next(']')) return in.fail("a pair of a key and a value was expected");
  }
}

// Of the last key.
void CellReader::add_value(Scanner& in) {
  const std::uint64_t value = in.number();
  if (!in.failed()) entries_.back().value = value;
}

// Keys repeat from map to map.
void CellReader::add_key(Scanner& in, std::string_view key) {
  if (in.failed()) return;
  if (entries_.size() == limits::kItems) return in.fail("a map has too many keys");
  if (key.size() > limits::kKeyBytes) return in.fail("a key is too long");
  auto known = keys_.find(std::string(key));
  if (known == keys_.end()) {
    const Id id = texts_.intern(key);
    ctprof_text kept{};
    pools_->texts.resolve({&id, 1}, {&kept, 1});
    known = keys_.emplace(key, kept).first;
    budget_->spend(key.size(), in);
  }
  entries_.push_back({known->second, 0});
  budget_->spend(0, in);
}

}  // namespace ctprof::columns
