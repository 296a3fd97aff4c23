// A column: the values of one metric with one cell per row. Each cell is a value or exactly one
// gap.
//
// Scalars are stored in the cells. For texts, bitsets, maps and arrays, cells contain ids of the
// snapshot's pools. A new cell is a gap.
//
// Threads: different rows may be written at the same time. Resizing and moving rows require
// exclusive access.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/pool.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {

// The source that filled a column, or the reason why no source could.
struct Provenance {
  std::string plugin;  // "": no source
  std::string source;
  Gap gap = Gap::None;  // if no source: the gap in every cell
  std::string reason;
};

// Consecutive rows.
struct RowRange {
  std::uint32_t first;
  std::uint32_t count;
};
// Returns the shortest list of runs that contains `rows` in their order.
std::vector<RowRange> find_row_ranges(std::span<const std::uint32_t> rows);

// Adds the number of cells with a value to counts[0], and of each gap to its element. REQUIRES: all
// gaps are known to this version.
using GapCounts = std::array<std::uint64_t, kGapNames.size()>;
void count_gaps(std::span<const ctprof_gap> gaps, GapCounts& counts);

// A byte array whose new bytes are zero. Large arrays are allocated with mmap, so that a page uses
// memory only after it is written.
class ZeroedBytes {
 public:
  ZeroedBytes() = default;
  explicit ZeroedBytes(std::size_t size) { resize(size); }
  ZeroedBytes(ZeroedBytes&& other) noexcept { swap(other); }
  ZeroedBytes& operator=(ZeroedBytes&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

  // Changes the size. New bytes are zero, even if they had other values before a previous shrink.
  void resize(std::size_t size);
  void reserve(std::size_t capacity);
  // Uses a part of a shared allocation as memory. REQUIRES: the part is zero, and the array is
  // empty.
  void use_shared_part(std::shared_ptr<std::byte> part, std::size_t capacity);
  void swap(ZeroedBytes& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(written_size_, other.written_size_);
  }

 private:
  struct Deallocate {
    std::size_t capacity;
    // Owner of the shared allocation; null: the bytes are mapped or allocated separately.
    std::shared_ptr<std::byte> shared;
    void operator()(std::byte* bytes) const;
  };

  std::unique_ptr<std::byte, Deallocate> bytes_{nullptr, Deallocate{0, nullptr}};
  std::size_t size_ = 0;
  std::size_t written_size_ = 0;  // bytes beyond this were never written
};

class Column {
 public:
  Column(SharedMetric def, std::size_t rows, Gap initial);

  const MetricDef& def() const { return *def_; }
  const SharedMetric& shared_def() const { return def_; }
  std::size_t rows() const { return gaps_.size(); }  // one byte per row

  // Return the cells as values. REQUIRES: the column has that storage.
  std::span<std::uint64_t> u64() { return cells_as<std::uint64_t>(); }
  std::span<const std::uint64_t> u64() const { return cells_as<const std::uint64_t>(); }
  std::span<std::int64_t> i64() { return cells_as<std::int64_t>(); }
  std::span<const std::int64_t> i64() const { return cells_as<const std::int64_t>(); }
  std::span<double> f64() { return cells_as<double>(); }
  std::span<const double> f64() const { return cells_as<const double>(); }
  std::span<std::uint8_t> bools() { return cells_as<std::uint8_t>(); }
  std::span<const std::uint8_t> bools() const { return cells_as<const std::uint8_t>(); }
  std::span<Id> ids() { return cells_as<Id>(); }
  std::span<const Id> ids() const { return cells_as<const Id>(); }

  // Returns the address of a cell, to be passed to a plugin.
  void* values_at(std::size_t row) { return values_.data() + row * width_; }
  const void* values_at(std::size_t row) const { return values_.data() + row * width_; }

  std::span<ctprof_gap> gaps() {
    return {reinterpret_cast<ctprof_gap*>(gaps_.data()), gaps_.size()};
  }
  std::span<const ctprof_gap> gaps() const {
    return {reinterpret_cast<const ctprof_gap*>(gaps_.data()), gaps_.size()};
  }
  Gap gap(std::size_t row) const { return static_cast<Gap>(gaps_.data()[row]); }
  bool has_value(std::size_t row) const { return gap(row) == Gap::None; }

  // Grows or shrinks to `rows`; new cells are gaps.
  void resize(std::size_t rows, Gap gap);
  // Moves `count` rows from `from` to `to`, and overwrites the rows there. REQUIRES: to <= from.
  void move_rows(std::size_t to, std::size_t from, std::size_t count);
  // Copies a cell, value or gap, from another column. REQUIRES: `from` has the same storage and the
  // same pools.
  void copy_from(std::size_t row, const Column& from, std::size_t from_row);
  // Returns whether both cells have the same value (compared by id if pooled) or the same gap.
  // REQUIRES: as above.
  bool has_same_cell(std::size_t row, const Column& other) const;
  // Replaces all cells by the listed rows of `from`. REQUIRES: `from` is another column with the
  // same storage.
  void assign_rows(const Column& from, std::span<const RowRange> rows);
  // Reorders the rows. REQUIRES: `order` contains each row once. `scratch` is working memory that
  // can be reused for the next column.
  void reorder_rows(std::span<const RowRange> order, std::vector<std::byte>& scratch);
  void reserve(std::size_t rows);

  Provenance provenance;

 private:
  friend void allocate_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all);

  template <class T>
  std::span<T> cells_as() {
    return {reinterpret_cast<T*>(values_.data()), gaps_.size()};
  }
  template <class T>
  std::span<T> cells_as() const {
    return {reinterpret_cast<T*>(values_.data()), gaps_.size()};
  }

  SharedMetric def_;
  std::size_t width_;
  ZeroedBytes values_;
  ZeroedBytes gaps_;  // one ctprof_gap per row
};

// Reserves memory for `rows` rows of all columns in one allocation, with huge pages if available:
// the first write to a page takes as long as reading hundreds of cells. The allocation contains the
// gaps of all columns, but values only of columns that a source filled (or of all, with
// `values_of_all`), because a huge page always uses its full size. Does nothing if the size is
// below that of a huge page. REQUIRES: the columns have no rows yet.
void allocate_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all = false);

// Returns whether cells of this storage contain ids of a pool.
constexpr bool is_pooled(Storage storage) {
  return storage == Storage::String || storage == Storage::Bitset || storage == Storage::Map ||
         storage == Storage::Array || storage == Storage::Stacks;
}

}  // namespace ctprof
