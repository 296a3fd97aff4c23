// A batch: some rows whose cells a source fills.
//
//   auto wait_max = batch.column(kWaitMax);
//   for (sdk::Thread thread : batch.threads()) wait_max.put(thread, read_wait_max(thread));
//
// `put` takes a value, a Gap, or a Reading, which is one or the other; a column that nobody wants
// swallows all of them, and is false when asked, so that a costly read can be left out.
//
// What is here:   Reading, Column, Batch.
// What is not:    when collect is called, and what becomes of a row that nobody filled: source.hpp
// and abi.h.

#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/metric.hpp"

namespace ctprof::sdk {

// A value, or the reason why there is none.
template <class T>
struct Reading {
  T value{};
  Gap gap = Gap::None;

  Reading(T value) : value(value) {}  // NOLINT: implicit on purpose
  Reading(Gap gap) : gap(gap) {}      // NOLINT: implicit on purpose
  explicit operator bool() const { return gap == Gap::None; }
};

using Entries = std::span<const ctprof_entry>;  // a map's cells
using Words = std::span<const std::uint64_t>;   // a bitset's words, or an array's numbers

// What a cell of a storage type holds, on its way in.
template <ctprof_storage S>
struct CellOf;
template <>
struct CellOf<CTPROF_U64> {
  using type = std::uint64_t;
};
template <>
struct CellOf<CTPROF_I64> {
  using type = std::int64_t;
};
template <>
struct CellOf<CTPROF_F64> {
  using type = double;
};
template <>
struct CellOf<CTPROF_BOOL> {
  using type = bool;
};
template <>
struct CellOf<CTPROF_STRING> {
  using type = std::string_view;
};
template <>
struct CellOf<CTPROF_BITSET> {
  using type = Words;
};
template <>
struct CellOf<CTPROF_MAP> {
  using type = Entries;
};
template <>
struct CellOf<CTPROF_ARRAY> {
  using type = Words;
};

// One column of a batch. Rows are numbered from 0 within the batch.
template <ctprof_storage S>
class Column {
 public:
  using Value = typename CellOf<S>::type;

  Column(const ctprof_batch& batch, std::uint32_t offer)
      : batch_(&batch),
        values_(batch.cells[offer].values),
        gaps_(batch.cells[offer].gaps),
        offer_(offer) {}

  // Whether anybody wants it.
  explicit operator bool() const { return gaps_ != nullptr; }

  void put(std::uint32_t row, Value value) {
    if (!gaps_) return;
    store(row, value);
    gaps_[row] = CTPROF_VALUE;
  }
  void put(std::uint32_t row, Gap gap) {
    if (gaps_) gaps_[row] = static_cast<ctprof_gap>(gap);
  }
  void put(std::uint32_t row, const Reading<Value>& reading) {
    reading ? put(row, reading.value) : put(row, reading.gap);
  }
  template <class ValueOrGap>
  void put(const Thread& thread, const ValueOrGap& value) {
    put(thread.row, value);
  }

 private:
  void store(std::uint32_t row, Value value) {
    if constexpr (S == CTPROF_STRING)
      batch_->put_text(batch_->core, offer_, row, value.data(), value.size());
    else if constexpr (S == CTPROF_BITSET)
      batch_->put_bits(batch_->core, offer_, row, value.data(), value.size());
    else if constexpr (S == CTPROF_MAP)
      batch_->put_map(batch_->core, offer_, row, value.data(), value.size());
    else if constexpr (S == CTPROF_ARRAY)
      batch_->put_array(batch_->core, offer_, row, value.data(), value.size());
    else if constexpr (S == CTPROF_BOOL)
      static_cast<std::uint8_t*>(values_)[row] = value ? 1 : 0;
    else
      static_cast<Value*>(values_)[row] = value;
  }

  const ctprof_batch* batch_;
  void* values_;
  ctprof_gap* gaps_;
  std::uint32_t offer_;
};

// A column that the source reads. Strings come as ctprof_text.
template <class T>
class Input {
 public:
  explicit Input(const ctprof_input& input)
      : values_(static_cast<const T*>(input.values)), gaps_(input.gaps) {}

  // Whether anybody fills it on this host.
  explicit operator bool() const { return values_ != nullptr; }

  Reading<T> at(std::uint32_t row) const {
    if (!values_) return Gap::Unsupported;
    if (gaps_[row] != CTPROF_VALUE) return static_cast<Gap>(gaps_[row]);
    return values_[row];
  }

 private:
  const T* values_;
  const ctprof_gap* gaps_;
};

// Some rows, at most CTPROF_MAX_ROWS. The threads' addresses come first among the inputs (see
// ThreadSource in source.hpp).
class Batch {
 public:
  Batch(ctprof_batch& batch, const ctprof_array& offers, const ctprof_array& reads)
      : abi_(&batch), offers_(&offers), reads_(&reads) {}

  std::uint32_t rows() const { return abi_->rows; }

  // The column of a metric that the source offers. Throws std::logic_error for one that it does
  // not.
  template <class N, class R, Entity E>
  Column<Metric<N, R, E>::kStorage> column(const Metric<N, R, E>& metric) const {
    return Column<Metric<N, R, E>::kStorage>(*abi_, index_of(metric.abi.name));
  }

  // A column that the source reads, by name, without the question mark. Throws std::logic_error for
  // one that it does not read.
  template <class T>
  Input<T> input(std::string_view name) const {
    return Input<T>(abi_->inputs[read_of(name)]);
  }
  // The same by position: the stage's own reads first, then those of `kReads`.
  template <class T>
  Input<T> input(std::uint32_t index) const {
    return Input<T>(abi_->inputs[index]);
  }

  // For sources of the thread stage: an address per row.
  class Threads {
   public:
    class Iterator {
     public:
      Iterator(const ctprof_batch* batch, std::uint32_t row) : batch_(batch), row_(row) {}
      Thread operator*() const {
        const auto* dirs = static_cast<const std::int64_t*>(batch_->inputs[2].values);
        return {row_, u64(0), u64(1), dirs ? static_cast<int>(dirs[row_]) : -1};
      }
      Iterator& operator++() {
        ++row_;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return row_ != other.row_; }

     private:
      std::uint64_t u64(int input) const {
        return static_cast<const std::uint64_t*>(batch_->inputs[input].values)[row_];
      }
      const ctprof_batch* batch_;
      std::uint32_t row_;
    };

    explicit Threads(const ctprof_batch* batch) : batch_(batch) {}
    Iterator begin() const { return {batch_, 0}; }
    Iterator end() const { return {batch_, batch_->rows}; }

   private:
    const ctprof_batch* batch_;
  };
  Threads threads() const { return Threads(abi_); }

  // Adds to one of the source's tallies, by position.
  void tally(std::uint32_t which, std::uint64_t count = 1) const {
    abi_->tally(abi_->core, which, count);
  }

  // A target was held up for so long.
  void stopped(std::uint64_t nanoseconds) const {
    if (nanoseconds > abi_->longest_stop_ns) abi_->longest_stop_ns = nanoseconds;
  }

 private:
  std::uint32_t index_of(std::string_view name) const {
    const auto* offers = static_cast<const ctprof_offer*>(offers_->items);
    for (std::uint32_t i = 0; i < offers_->count; ++i)
      if (offers[i].metric->name == name) return i;
    throw std::logic_error("asked for the column of '" + std::string(name) +
                           "', which it does not offer");
  }

  std::uint32_t read_of(std::string_view name) const {
    const auto* reads = static_cast<const char* const*>(reads_->items);
    for (std::uint32_t i = 0; i < reads_->count; ++i) {
      std::string_view read = reads[i];
      if (read.ends_with('?')) read.remove_suffix(1);
      if (read == name) return i;
    }
    throw std::logic_error("asked to read '" + std::string(name) +
                           "', which is not among its reads");
  }

  ctprof_batch* abi_;
  const ctprof_array* offers_;
  const ctprof_array* reads_;
};

}  // namespace ctprof::sdk
