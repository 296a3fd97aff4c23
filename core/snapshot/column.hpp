// A column: the values of one metric, one cell a row, each a value or exactly one gap.
//
// Scalars are stored in the cells; texts, bitsets, maps and arrays are ids into the snapshot's
// pools. A new cell is a gap.
//
// Threads: different rows may be written at the same time; resizing and moving rows need exclusive
// use.

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

// Which source filled a column, or why none could.
struct Provenance {
  std::string plugin;  // "": no source
  std::string source;
  Gap gap = Gap::None;  // if no source: the gap in every cell
  std::string reason;
};

// Consecutive rows.
struct RowRun {
  std::uint32_t first;
  std::uint32_t count;
};
// The shortest list of runs that gives `rows` in their order.
std::vector<RowRun> runs_of(std::span<const std::uint32_t> rows);

// How many cells hold a value, at 0, and how many each gap. Adds to `counts`. REQUIRES: no gap is
// beyond the known ones.
using GapCounts = std::array<std::uint64_t, kGapNames.size()>;
void count_gaps(std::span<const ctprof_gap> gaps, GapCounts& counts);

// A byte array whose new bytes are zero. Large arrays come straight from mmap, so that a page costs
// memory only once something is written to it.
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

  // New bytes are zero, also where there were others before.
  void resize(std::size_t size);
  void reserve(std::size_t capacity);
  // Takes memory that others have parts of, too, as its own. REQUIRES: it is zero, and there are no
  // bytes yet.
  void adopt(std::shared_ptr<std::byte> part, std::size_t capacity);
  void swap(ZeroedBytes& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(used_, other.used_);
  }

 private:
  struct Free {
    std::size_t capacity;
    // Whose part the bytes are; nobody's: they are mapped, or allocated.
    std::shared_ptr<std::byte> shared;
    void operator()(std::byte* bytes) const;
  };

  std::unique_ptr<std::byte, Free> bytes_{nullptr, Free{0, nullptr}};
  std::size_t size_ = 0;
  std::size_t used_ = 0;  // bytes beyond this were never written
};

class Column {
 public:
  Column(SharedMetric def, std::size_t rows, Gap initial);

  const MetricDef& def() const { return *def_; }
  const SharedMetric& shared_def() const { return def_; }
  std::size_t rows() const { return gaps_.size(); }  // a byte each

  // The cells as values. REQUIRES: the column has that storage.
  std::span<std::uint64_t> u64() { return typed<std::uint64_t>(); }
  std::span<const std::uint64_t> u64() const { return typed<const std::uint64_t>(); }
  std::span<std::int64_t> i64() { return typed<std::int64_t>(); }
  std::span<const std::int64_t> i64() const { return typed<const std::int64_t>(); }
  std::span<double> f64() { return typed<double>(); }
  std::span<const double> f64() const { return typed<const double>(); }
  std::span<std::uint8_t> bools() { return typed<std::uint8_t>(); }
  std::span<const std::uint8_t> bools() const { return typed<const std::uint8_t>(); }
  std::span<Id> ids() { return typed<Id>(); }
  std::span<const Id> ids() const { return typed<const Id>(); }

  // The address of a cell, for passing to a plugin.
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
  // Moves `count` rows from `from` to `to`, overwriting what is there. REQUIRES: to <= from.
  void move_rows(std::size_t to, std::size_t from, std::size_t count);
  // Copies a cell, value or gap, from another column. REQUIRES: `from` has the same storage and the
  // same pools.
  void take(std::size_t row, const Column& from, std::size_t from_row);
  // Whether both have the same value, by id where it is pooled, or the same gap. REQUIRES: as
  // above.
  bool same_cell(std::size_t row, const Column& other) const;
  // Replaces all cells with these rows of `from`. REQUIRES: `from` is another column with the same
  // storage.
  void gather(const Column& from, std::span<const RowRun> rows);
  // Reorders the rows. REQUIRES: `order` holds each row once. `scratch` is working memory, to be
  // reused for the next column.
  void permute(std::span<const RowRun> order, std::vector<std::byte>& scratch);
  void reserve(std::size_t rows);

  Provenance provenance;

 private:
  friend void place_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all);

  template <class T>
  std::span<T> typed() {
    return {reinterpret_cast<T*>(values_.data()), gaps_.size()};
  }
  template <class T>
  std::span<T> typed() const {
    return {reinterpret_cast<T*>(values_.data()), gaps_.size()};
  }

  SharedMetric def_;
  std::size_t width_;
  ZeroedBytes values_;
  ZeroedBytes gaps_;  // a ctprof_gap each
};

// Gives these columns, which have no rows yet, room for `rows` in one piece of memory, in huge
// pages where the kernel has them: a page that is written to for the first time costs as much as
// reading hundreds of cells. The piece has the gaps of all columns; values only of those that a
// source filled, unless all have some, for a huge page costs memory whole. Nothing where that is
// too little for a huge page.
void place_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all = false);

// Whether cells of this storage hold ids of a pool.
constexpr bool is_pooled(Storage storage) {
  return storage == Storage::String || storage == Storage::Bitset || storage == Storage::Map ||
         storage == Storage::Array || storage == Storage::Stacks;
}

}  // namespace ctprof
