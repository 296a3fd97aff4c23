// Reads the cells of one column from one line.
//
// Contents: values of every storage, their ranges, and the memory limit of the pools.
//
// See also: table_line.hpp, which selects column and rows, and reads why a cell is null.

#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_scanner.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"

namespace ctprof::columns {

inline constexpr std::string_view kTooMuchMemory =
    "requires more memory than allowed for a file of its size";

// The memory that pools and kept keys may use; overhead is estimated generously. Threads: any.
class PoolBudget {
 public:
  explicit PoolBudget(std::size_t most) : max_items_(most) {}
  // Records `items` more items with `bytes` in total. Fails the scanner if they exceed the budget.
  void spend(std::size_t bytes, Scanner& in, std::size_t items = 1) {
    if ((used_ += bytes + items * limits::kPooledOverhead) > max_items_) in.fail(kTooMuchMemory);
  }

 private:
  std::size_t max_items_;
  std::atomic<std::size_t> used_{0};
};

// Consecutive rows of a table.
struct Rows {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t end() const { return first + count; }
  bool contains(std::size_t row) const { return row >= first && row < end(); }
};

// Returns the first bytes of a name in quotes, for a message.
std::string quote_name(std::string_view name);

// Reads cells; each thread needs its own CellReader.
class CellReader {
 public:
  // REQUIRES: both outlive it.
  CellReader(Pools& pools, PoolBudget& budget)
      : pools_(&pools), budget_(&budget), texts_(pools.texts) {}

  // Reads an array with one item per row. A null cell becomes NotInFile.
  void read(Scanner& in, const Rows& rows, Column& column);
  // Sets a text that is not valid UTF-8, which JSON cannot represent.
  void put_text(Scanner& in, std::string_view bytes, Column& column, std::size_t row);

 private:
  // A map key in the text pool.
  struct Key {
    ctprof_text text{};
    bool is_plain = false;  // JSON spells it without escapes
  };

  template <typename ReadPlain>
  void read_cells(Scanner& in, const Rows& rows, Column& column, const ReadPlain& read_plain);
  void read_cell(Scanner& in, Column& column, std::size_t row);
  void read_unsigned(Scanner& in, Column& column, std::size_t row);
  void read_signed(Scanner& in, Column& column, std::size_t row);
  void read_text(Scanner& in, Column& column, std::size_t row);
  void read_bits(Scanner& in, Column& column, std::size_t row);
  void read_array(Scanner& in, Column& column, std::size_t row);
  void read_map(Scanner& in, Column& column, std::size_t row);
  void read_stack_weight(Scanner& in, Column& column, std::size_t row);
  void read_entries(Scanner& in);
  void add_key(Scanner& in, bool is_member);
  Key find_or_add_key(Scanner& in, std::string_view text);
  void add_value(Scanner& in);
  bool reuse_last_text(std::string_view text, Column& column, std::size_t row) const;
  // Reads repetitions of the last text, and returns their number.
  std::size_t read_repeated_texts(Scanner& in, std::span<Id> cells) const;
  void set_last_text(std::string_view text, bool is_plain, Id id, Column& column, std::size_t row);

  Pools* pools_;
  PoolBudget* budget_;
  TextCache texts_;
  std::unordered_map<std::string_view, Key, SeededHash> keys_;
  std::vector<Key> expected_;  // keys of the previous map, which the next one usually repeats
  bool keys_ascend_ = true;    // the keys of the current map are sorted and unique
  bool has_new_keys_ = false;  // the current map has keys that were not expected
  std::vector<std::uint64_t> words_;
  std::vector<ctprof_entry> entries_;
  std::string last_text_;  // the column's last text: consecutive rows often have the same text
  Id last_id_ = 0;
  bool has_last_ = false;
  bool is_last_plain_ = false;  // JSON spells last_text_ without escapes
};

}  // namespace ctprof::columns
