// Fills the columns of one table, row by row, with the parsed values.
//
// Each leaf of the table's tree has a slot with its column, the kind of its values, and the last
// row that had one. Slots without a value at the end of a row become gaps. Values are buffered and
// copied to their columns in blocks of rows, because writing each row to a hundred columns would
// access a hundred places in memory. The capacity of columns doubles as needed, within the budget.
//
// Contents: storing one value in one cell, with its checks.
//
// See also: row_reader.hpp, which finds the leaf of a value;
// snapshot_builder.hpp, which sets the gaps that the file explains.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/layout/cell.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"

namespace ctprof {

// The state of one leaf: its column, and the newest values.
struct Slot {
  static constexpr std::size_t kBlock = 128;  // rows per block
  enum class Kind : std::uint8_t { Skip, U64, I64, F64, Bool, ZeroOne, Text, Bits, Array, Map };

  Kind kind = Kind::Skip;  // Skip: values are ignored
  bool may_be_null = false;
  std::uint32_t last_row = 0;  // the last row with a value, counted from 1
  Bounds bounds;
  ctprof_gap* gaps = nullptr;
  Column* column = nullptr;
  std::string_view last_text;  // consecutive rows often have the same text
  Id last_id = 0;
  bool has_last = false;
  std::array<std::uint64_t, kBlock> block{};  // the newest cells, as 64-bit words for every storage
};

// Fills the columns of one table.
class RowFiller {
 public:
  static constexpr const char* kTooMuchMemory =
      "requires more memory than allowed for a file of its size";

  RowFiller() = default;
  // REQUIRES: `pools`, `texts` (a cache for the text pool) and `budget` outlive it.
  RowFiller(std::size_t leaves, std::size_t max_rows, Pools& pools, TextCache& texts,
            MemoryBudget& budget)
      : slots_(leaves), max_rows_(max_rows), pools_(&pools), texts_(&texts), budget_(&budget) {}

  // Assigns a column to a leaf. REQUIRES: the column is empty, is not moved, and no other code
  // resizes it.
  void add_column(std::size_t leaf, Column& column);
  // Sets the number of rows that the file announces. Their memory is then allocated in one step, if
  // the budget allows it.
  void set_expected_rows(std::size_t rows) { expected_rows_ = std::min(rows, max_rows_); }

  Slot& slot(std::size_t leaf) { return slots_[leaf]; }
  bool has_value_in_row(const Slot& slot) const { return slot.last_row == rows_; }
  std::size_t rows() const { return rows_; }

  // The following functions return false on failure; the error text then has the reason.
  bool begin_row() {
    if (rows_ % Slot::kBlock == 0) flush();
    if (rows_ == capacity_ && !grow()) return false;
    ++rows_;
    values_in_row_ = 0;
    return true;
  }
  bool end_row() {
    if (values_in_row_ != column_count_) mark_missing();
    return !budget_->is_exceeded() || fail(kTooMuchMemory);
  }

  bool put_number(Slot& slot, std::uint64_t value) {
    if (slot.kind == Slot::Kind::U64 && value <= slot.bounds.max) return put(slot, value);
    return put_other_kind_of_number(slot, value);
  }
  // Numbers with a sign. The text is that of the number.
  bool put_signed(Slot& slot, std::int64_t value, std::string_view text);
  // Numbers with a point or an exponent, and whole numbers beyond 64 bits.
  bool put_real(Slot& slot, std::string_view text);
  bool put_bool(Slot& slot, bool value);
  bool put_null(Slot& slot);
  bool put_text(Slot& slot, std::string_view text);

  // Arrays and maps are added item by item.
  void begin_items() { items_.clear(); }
  bool add_item(const Slot& slot, std::uint64_t value);
  void end_items(Slot& slot);
  void begin_map();
  bool add_key(std::string_view key);
  void set_entry(std::uint64_t value) { entries_.back().value = value; }
  void end_map(Slot& slot);

  // Gives the columns their final length.
  void finish();

  const std::string& error_text() const { return error_text_; }

 private:
  bool grow();
  // Copies the newest block of cells to the columns.
  void flush();
  void mark_missing();
  bool put_other_kind_of_number(Slot& slot, std::uint64_t value);
  ctprof_text intern_key(std::string_view key);
  bool reject_range(const Slot& slot, std::string_view text);
  bool reject_kind(const Slot& slot, std::string_view found);
  bool fail(std::string why) {
    error_text_ = std::move(why);
    return false;
  }
  void mark_value(Slot& slot) {
    if (slot.last_row == rows_)
      return void(slot.gaps[rows_ - 1] = CTPROF_VALUE);  // the other spelling of this key was null
    slot.last_row = static_cast<std::uint32_t>(rows_);
    ++values_in_row_;
  }
  bool put(Slot& slot, std::uint64_t cell) {
    mark_value(slot);
    slot.block[(rows_ - 1) % Slot::kBlock] = cell;
    return true;
  }

  std::vector<Slot> slots_;
  std::size_t max_rows_ = 0;
  std::size_t column_count_ = 0;           // number of slots with a column
  std::vector<std::uint32_t> used_slots_;  // indexes of those slots
  std::size_t rows_ = 0;
  std::size_t flushed_rows_ = 0;  // number of rows that are copied to the columns
  std::size_t expected_rows_ = 0;
  std::size_t capacity_ = 0;
  std::size_t row_bytes_ = 0;
  std::size_t values_in_row_ = 0;  // number of slots with a value in this row
  Pools* pools_ = nullptr;
  TextCache* texts_ = nullptr;
  MemoryBudget* budget_ = nullptr;
  std::vector<std::uint64_t> items_;
  std::vector<ctprof_entry> entries_;
  // The previous map, whose keys the next one usually repeats.
  std::vector<ctprof_entry> last_entries_;
  bool keys_ascend_ = true;  // the keys of the current map are ascending
  // Whether the keys so far equal those of the previous map, which are ascending.
  bool has_same_keys_ = true;
  std::string error_text_;
};

}  // namespace ctprof
