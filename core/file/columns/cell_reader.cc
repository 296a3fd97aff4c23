#include "core/file/columns/cell_reader.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/base/cpu_ranges.hpp"
#include "core/base/text.hpp"
#include "core/file/layout/cell.hpp"

namespace ctprof::columns {
namespace {

constexpr auto kNotInFile = static_cast<ctprof_gap>(Gap::NotInFile);

void fail_range(Scanner& in, const Column& column) {
  in.fail("a value is out of range for " + column.def().newtype);
}

std::string_view to_view(const ctprof_text& text) { return {text.data, text.size}; }

bool is_before(const ctprof_entry& a, const ctprof_entry& b) {
  return to_view(a.key) < to_view(b.key);
}

constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();

std::span<std::uint64_t> as_unsigned(std::span<std::int64_t> cells) {
  return {reinterpret_cast<std::uint64_t*>(cells.data()), cells.size()};
}

}  // namespace

std::string quote_name(std::string_view name) {
  constexpr std::size_t kMaxShownBytes = 80;
  return quote(name.substr(0, kMaxShownBytes));
}

// Most cells of a file are plain. The scanner reads consecutive plain cells in one call.
void CellReader::read(Scanner& in, const Rows& rows, Column& column) {
  has_last_ = false;
  const Bounds bounds = bounds_of(column.def());
  const auto rest = [&](auto cells, std::size_t row) {
    return cells.subspan(row, rows.end() - row);
  };
  switch (column.def().storage) {
    case Storage::U64:
      return read_cells(in, rows, column, [&](std::size_t row) {
        return in.read_plain_numbers(rest(column.u64(), row), bounds.max);
      });
    case Storage::I64:  // the fast path covers non-negative values
      return read_cells(in, rows, column, [&](std::size_t row) {
        return bounds.min > 0 ? 0
                              : in.read_plain_numbers(as_unsigned(rest(column.i64(), row)),
                                                      std::min(bounds.max, kMaxSigned));
      });
    case Storage::Bool:
      return read_cells(in, rows, column, [&](std::size_t row) {
        return in.read_plain_booleans(rest(column.bools(), row));
      });
    case Storage::String:
    case Storage::Bitset:
      return read_cells(in, rows, column, [&](std::size_t row) {
        return read_repeated_texts(in, rest(column.ids(), row));
      });
    default: return read_cells(in, rows, column, [](std::size_t) { return std::size_t{0}; });
  }
}

// `read_plain` reads the consecutive plain values that start at a row, and returns their number.
template <typename Take>
void CellReader::read_cells(Scanner& in, const Rows& rows, Column& column, const Take& read_plain) {
  const auto gaps = column.gaps();
  const std::size_t end = rows.end();
  std::size_t row = rows.first;
  const auto mark = [&](std::size_t count, ctprof_gap gap) {
    std::ranges::fill(gaps.subspan(row, count), gap);
    row += count;
    return count;
  };
  for (in.enter('['); in.next(']'); ++row) {
    do mark(read_plain(row), CTPROF_VALUE);
    while (mark(in.read_plain_nulls(end - row), kNotInFile) > 0);
    if (row == end) return in.fail("column " + quote_name(column.def().name) + " is too long");
    const bool is_null = in.consume_null();
    gaps[row] = is_null ? kNotInFile : static_cast<ctprof_gap>(CTPROF_VALUE);
    if (!is_null) read_cell(in, column, row);
  }
  if (!in.has_failed() && row != end)
    in.fail("column " + quote_name(column.def().name) + " has " + std::to_string(row - rows.first) +
            " cells instead of " + std::to_string(rows.count));
}

void CellReader::read_cell(Scanner& in, Column& column, std::size_t row) {
  switch (column.def().storage) {
    case Storage::U64: return read_unsigned(in, column, row);
    case Storage::I64: return read_signed(in, column, row);
    case Storage::F64: column.f64()[row] = in.real_number(); return;
    case Storage::Bool: column.bools()[row] = in.boolean(); return;
    case Storage::String: return read_text(in, column, row);
    case Storage::Bitset: return read_bits(in, column, row);
    case Storage::Array: return read_array(in, column, row);
    case Storage::Map: return read_map(in, column, row);
    case Storage::Stacks: return read_stack_weight(in, column, row);
  }
}

void CellReader::read_unsigned(Scanner& in, Column& column, std::size_t row) {
  const std::uint64_t value = in.number();
  if (value > bounds_of(column.def()).max) return fail_range(in, column);
  column.u64()[row] = value;
}

void CellReader::read_signed(Scanner& in, Column& column, std::size_t row) {
  const Bounds bounds = bounds_of(column.def());
  const std::int64_t value = in.signed_number();
  if (value < bounds.min || (value > 0 && static_cast<std::uint64_t>(value) > bounds.max))
    return fail_range(in, column);
  column.i64()[row] = value;
}

// Consecutive rows often have the same text; repetitions need no lookup in the pool.
std::size_t CellReader::read_repeated_texts(Scanner& in, std::span<Id> cells) const {
  if (!has_last_ || !is_last_plain_) return 0;
  const std::size_t count = in.consume_repeated_texts(last_text_, cells.size());
  std::ranges::fill(cells.first(count), last_id_);
  return count;
}

bool CellReader::reuse_last_text(std::string_view text, Column& column, std::size_t row) const {
  if (!has_last_ || last_text_ != text) return false;
  column.ids()[row] = last_id_;
  return true;
}

void CellReader::set_last_text(std::string_view text, bool is_plain, Id id, Column& column,
                               std::size_t row) {
  last_text_ = text;
  last_id_ = id;
  has_last_ = true;
  is_last_plain_ = is_plain;
  column.ids()[row] = id;
}

void CellReader::read_text(Scanner& in, Column& column, std::size_t row) {
  const std::string_view text = in.text();
  if (text.size() > limits::kTextBytes) return in.fail("a text is too long");
  if (reuse_last_text(text, column, row)) return;
  budget_->spend(text.size(), in);
  set_last_text(text, !in.was_escaped(), texts_.intern(text), column, row);
}

void CellReader::put_text(Scanner& in, std::string_view bytes, Column& column, std::size_t row) {
  if (bytes.size() > limits::kTextBytes) return in.fail("a text is too long");
  budget_->spend(bytes.size(), in);
  column.ids()[row] = texts_.intern(bytes);
  column.gaps()[row] = CTPROF_VALUE;
}

void CellReader::read_bits(Scanner& in, Column& column, std::size_t row) {
  const std::string_view text = in.text();
  if (reuse_last_text(text, column, row)) return;
  if (!parse_cpu_ranges(text, limits::kItems, words_))
    return in.fail("a set of CPUs was expected, as \"0-3,8\",");
  budget_->spend(words_.size() * sizeof words_[0], in);
  set_last_text(text, !in.was_escaped(), pools_->words.intern(words_), column, row);
}

void CellReader::read_array(Scanner& in, Column& column, std::size_t row) {
  words_.clear();
  for (in.enter('['); in.next(']'); words_.push_back(in.number()))
    if (words_.size() == limits::kItems) return in.fail("an array has too many items");
  budget_->spend(words_.size() * sizeof words_[0], in);
  column.ids()[row] = pools_->words.intern(words_);
}

// The stacks follow the tables. Until they are read, the cell holds one stack of the same total
// weight at the root node.
void CellReader::read_stack_weight(Scanner& in, Column& column, std::size_t row) {
  const ctprof_stack all{StackTable::kTop, in.number()};
  budget_->spend(sizeof all, in);
  column.ids()[row] = pools_->stacks.append({&all, all.weight > 0 ? 1U : 0U});
}

void CellReader::read_map(Scanner& in, Column& column, std::size_t row) {
  entries_.clear();
  has_new_keys_ = false;
  read_entries(in);
  budget_->spend(0, in, entries_.size() + 1);
  if (in.has_failed()) return;
  if (has_new_keys_)
    keys_ascend_ = std::adjacent_find(entries_.begin(), entries_.end(), std::not_fn(is_before)) ==
                   entries_.end();
  column.ids()[row] = keys_ascend_ ? pools_->maps.append_pooled(entries_)
                                   : pools_->maps.append(entries_, pools_->texts);
}

void CellReader::read_entries(Scanner& in) {
  if (in.peek() == '{') {
    for (in.enter('{'); in.next('}'); add_value(in)) add_key(in, true);
    return;
  }
  for (in.enter('['); in.next(']');) {
    in.enter('[');
    if (!in.next(']')) return in.fail("a pair of a key and a value was expected");
    add_key(in, false);
    if (!in.next(']')) return in.fail("a value was expected after its key");
    add_value(in);
    if (in.next(']')) return in.fail("a pair of a key and a value was expected");
  }
}

// Reads the value of the last key.
void CellReader::add_value(Scanner& in) {
  const std::uint64_t value = in.number();
  if (!in.has_failed()) entries_.back().value = value;
}

// Adds the next key. Tries first the key that the previous map had at the same position.
// `is_member`: the key is the member of an object and is followed by a colon.
void CellReader::add_key(Scanner& in, bool is_member) {
  const std::size_t at = entries_.size();
  if (at == limits::kItems) return in.fail("a map has too many keys");
  if (at < expected_.size() && expected_[at].is_plain) {
    const std::string_view text = to_view(expected_[at].text);
    if (is_member ? in.consume_key(text) : in.consume_text(text))
      return entries_.push_back({expected_[at].text, 0});
  }
  const std::string_view text = is_member ? in.key() : in.text();
  if (in.has_failed()) return;
  has_new_keys_ = true;
  expected_.resize(at);
  expected_.push_back(find_or_add_key(in, text));
  entries_.push_back({expected_.back().text, 0});
}

CellReader::Key CellReader::find_or_add_key(Scanner& in, std::string_view text) {
  if (text.size() > limits::kKeyBytes) return in.fail("a key is too long"), Key{};
  if (const auto known = keys_.find(text); known != keys_.end()) return known->second;
  budget_->spend(text.size(), in);
  const std::string_view kept = pools_->texts.intern_text(text).text;
  const Key key{.text = {kept.data(), kept.size()}, .is_plain = !in.was_escaped()};
  keys_.emplace(to_view(key.text), key);
  return key;
}

}  // namespace ctprof::columns
