// A batch: a number of rows whose cells a source fills.
//
//   auto wait_max = batch.column(kWaitMax);
//   for (sdk::Thread thread : batch.threads()) wait_max.put(thread, read_wait_max(thread));
//
// `put` takes a value, a Gap, or a Reading, which is one of the two. A column that was not
// requested ignores all of them and converts to false, so a source can skip expensive reads.
//
// The metric of a column determines which values fit, and the compiler checks this. An unsigned
// column takes unsigned integers, so `put(row, -1)` for "unknown" does not compile; a column of
// fractions takes doubles; a flag takes only bool. A value that carries its newtype (Figure,
// gap.hpp) is put through a table, which checks the newtype as well.
//
// Three ways to iterate over a batch, by stage:
//
//   for (const sdk::Thread thread : batch.threads()) ...           // threads, by their address
//   const auto tgids = batch.input(sdk::kProcessTgid);             // processes, by their id
//   const auto paths = batch.input(sdk::kCgroupPath);              // cgroups, by their path
//   for (std::uint32_t row = 0; row < batch.rows(); ++row) ...     // any of them, and the host
//
// Contents:   Column, Input, Batch.
// See also:   source.hpp and abi.h for the time of calls to `collect` and for rows that were not
//             filled.

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
#include "ctprof/reads.hpp"

namespace ctprof::sdk {

// One column of a batch. Rows are numbered from 0 within the batch. A column is a view: cheap to
// copy, and valid until `collect` returns.
//
// Examples of values for each storage:
//
//   count.put(row, std::uint64_t{42});                 // an unsigned number
//   nice.put(row, -5);                                 // a signed one
//   load.put(row, 0.25);                               // a fraction
//   enabled.put(row, true);                            // a flag
//   policy.put(row, "SCHED_RR");                       // a text
//   cpus.put(row, sdk::Words(mask));                   // a std::vector<std::uint64_t> of bits
//   const ctprof_entry sizes[] = {{{"anon", 4}, 12}, {{"file", 4}, 7}};
//   memory.put(row, sdk::Entries(sizes));              // a map
//   count.put(row, Gap::ThreadGone);                   // no value, and why
//   count.put(row, read_count(thread));                // a Reading: one or the other
template <ctprof_storage S>
class Column {
 public:
  // The type of a cell's value: a 64-bit number, a bool, or a view (gap.hpp).
  using Value = typename CellOf<S>::type;

  // Made by Batch::column, which finds the index of the offer.
  Column(const ctprof_batch& batch, std::uint32_t offer)
      : batch_(&batch),
        values_(batch.cells[offer].values),
        gaps_(batch.cells[offer].gaps),
        offer_(offer) {}

  // Whether the column was requested. Use this to skip the work for other columns:
  //
  //   auto stacks = batch.column(kStackDepth);
  //   if (stacks) unwind_everything();
  explicit operator bool() const { return gaps_ != nullptr; }

  // Fills the cell of this row with a value, a Gap, or a Reading or Figure of either. Does nothing
  // if the column was not requested. The last `put` to a row counts. Texts, words and entries are
  // copied before it returns.
  //
  // A fraction that is not finite becomes Malformed when the core reads the batch. Texts may
  // contain any bytes.
  //
  // REQUIRES: row < Batch::rows().
  template <class Cell>
  void put(std::uint32_t row, const Cell& cell) {
    if constexpr (std::is_same_v<Cell, Gap>) {
      if (gaps_) gaps_[row] = static_cast<ctprof_gap>(cell);
    } else if constexpr (kIsReading<Cell>) {
      cell ? put(row, cell.value) : put(row, cell.gap);
    } else {
      static_assert(kIsFigure<Cell> || keeps_value<Cell, Value>(), CTPROF_SAYS_VALUE_CHANGES);
      if (!gaps_) return;
      store(row, cell);
      gaps_[row] = CTPROF_VALUE;
    }
  }
  // Fills the cell in the row of a thread.
  template <class Cell>
  void put(const Thread& thread, const Cell& cell) {
    put(thread.row, cell);
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

// The type that a source reads from a column: the same as for `put`, but without copies. Texts are
// passed as address and length, flags as a byte.
template <class T>
using RawInput = std::conditional_t<std::is_same_v<T, std::string_view>, ctprof_text,
                                    std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;

// A column that the source reads. Its cells belong to ctprof and are valid only during `collect`.
//
//   const auto states = batch.input(kState);
//   for (const sdk::Thread thread : batch.threads()) {
//     const auto state = states.at(thread.row);
//     if (!state) depth.put(thread, state.gap);          // the input has no value: pass its gap on
//     else if (state.value == "Z") depth.put(thread, Gap::NotApplicable);
//     else depth.put(thread, measure(thread));
//   }
template <class T>
class Input {
 public:
  using Raw = RawInput<T>;

  explicit Input(const ctprof_input& input)
      : values_(static_cast<const Raw*>(input.values)), gaps_(input.gaps) {}

  // Whether a source fills the column on this host. False only for columns that are read as
  // optional. True does not mean that every row has a value: check each reading.
  explicit operator bool() const { return values_ != nullptr; }

  // Returns the cell of a row: its value, the gap that its source put, or Unsupported if no source
  // fills the column. REQUIRES: row < Batch::rows().
  Reading<T> at(std::uint32_t row) const {
    if (!values_) return Gap::Unsupported;
    if (gaps_[row] != CTPROF_VALUE) return static_cast<Gap>(gaps_[row]);
    if constexpr (std::is_same_v<T, std::string_view>)
      return std::string_view(values_[row].data, values_[row].size);
    else if constexpr (std::is_same_v<T, bool>)
      return values_[row] != 0;
    else
      return values_[row];
  }

 private:
  const Raw* values_;
  const ctprof_gap* gaps_;
};

// The input type for a column of a metric. Texts are std::string_view, sets of CPUs are words, and
// so on, as `put` takes them.
template <class M>
using InputOf = Input<typename CellOf<std::remove_cvref_t<M>::kStorage>::type>;

// A batch of at most CTPROF_MAX_ROWS rows. In the thread stage, the addresses of the threads are
// the first inputs (see ThreadSource in source.hpp).
//
//   void collect(const sdk::Batch& batch) {
//     auto waits = batch.column(kWaits);                    // once a batch
//     for (const sdk::Thread thread : batch.threads())      // then row by row
//       waits.put(thread, read_waits(thread));
//   }
//
// Two sources of the same plugin do not share a batch, even for the same rows. If both need the
// same data, read it once and pass it on in a hidden column (CTPROF_METRIC_HIDDEN), which the
// second source reads.
//
// Put a value or a gap into every cell of every requested column. A cell without either becomes
// SourceFailed, and a message reports the error to the user. Rows are independent of each other and
// can be filled in any order.
//
// Threads: a batch belongs to one call of `collect`. Do not keep it, and do not hand it to a thread
// that outlives the call.
class Batch {
 public:
  Batch(ctprof_batch& batch, const ctprof_array& offers, const ctprof_array& reads)
      : abi_(&batch), offers_(&offers), reads_(&reads) {}

  // Returns the number of rows, at most CTPROF_MAX_ROWS.
  std::uint32_t rows() const { return abi_->rows; }

  // Returns the column of a metric that the source offers. Throws std::logic_error for any other
  // metric. The column is found by name, so get it once per batch, not once per row.
  template <class N, class R, Entity E>
  Column<Metric<N, R, E>::kStorage> column(const Metric<N, R, E>& metric) const {
    return Column<Metric<N, R, E>::kStorage>(*abi_, index_of(metric.abi.name));
  }

  // Returns a column that the source reads (reads.hpp), with the type of its metric. Throws
  // std::logic_error for a column that is not among the source's reads. The column is found by
  // name, so get it once per batch, not once per row.
  template <class N, class R, Entity E>
  InputOf<Metric<N, R, E>> input(const Metric<N, R, E>& metric) const {
    return InputOf<Metric<N, R, E>>(abi_->inputs[read_of(metric.abi.name)]);
  }
  // The same for use once per row: the compiler finds the column, and rejects one that `Source`
  // does not read.
  template <class Source, const auto& kMetric>
  InputOf<decltype(kMetric)> input() const {
    constexpr std::size_t kAt = position_of_read<Source>(kMetric.abi.name);
    static_assert(kAt != kNotRead, "this source does not read that column: add it to its kReads");
    return InputOf<decltype(kMetric)>(abi_->inputs[kAt]);
  }
  // Finds a column by its plain name, without the question mark, if its metric is not declared in
  // C++. T is the type of its storage: std::uint64_t, std::int64_t, double, bool or
  // std::string_view. T cannot be checked: a wrong type misreads the cells.
  template <class T>
  Input<T> input(std::string_view name) const {
    return Input<T>(abi_->inputs[read_of(name)]);
  }

  // For sources of the thread stage: one address per row, made from the first three inputs.
  //
  // If ctprof has opened a thread's directory, the address contains it, and the thread's files are
  // opened relative to it. This is cheaper than a path, and never opens a file of another thread.
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
  // Returns the threads of the batch, in the order of their rows: `for (sdk::Thread thread :
  // batch.threads())`. REQUIRES: a source of the thread stage.
  Threads threads() const { return Threads(abi_); }

  // Adds to one of the source's tallies, by index. Tallies count what the summary reports once,
  // such as the number of denied reads; ctprof adds them up over all workers.
  //
  //   enum Tally : std::uint32_t { kDenied, kCutShort, kCount };
  //   static constexpr std::uint32_t kTallies = kCount;
  //   ...
  //   if (text.gap == Gap::Denied) batch.tally(kDenied);
  void tally(std::uint32_t which, std::uint64_t count = 1) const {
    abi_->tally(abi_->core, which, count);
  }

  // For sources that stop their targets: records for how long a target was stopped. The capture
  // file contains the longest stop.
  void stopped(std::uint64_t nanoseconds) const {
    if (nanoseconds > abi_->longest_stop_ns) abi_->longest_stop_ns = nanoseconds;
  }

 private:
  // The index of an offer is its position in kOffers.
  std::uint32_t index_of(std::string_view name) const {
    const auto* offers = static_cast<const ctprof_offer*>(offers_->items);
    for (std::uint32_t i = 0; i < offers_->count; ++i)
      if (offers[i].metric->name == name) return i;
    throw std::logic_error("requested column '" + std::string(name) + "', which it does not offer");
  }

  // The index of a read is its position among the stage's reads, followed by kReads.
  std::uint32_t read_of(std::string_view wanted) const {
    const auto* reads = static_cast<const char* const*>(reads_->items);
    for (std::uint32_t i = 0; i < reads_->count; ++i)
      if (is_read_of(reads[i], wanted)) return i;
    throw std::logic_error("read column '" + std::string(wanted) +
                           "', which is not among its reads");
  }

  ctprof_batch* abi_;
  const ctprof_array* offers_;
  const ctprof_array* reads_;
};

}  // namespace ctprof::sdk
