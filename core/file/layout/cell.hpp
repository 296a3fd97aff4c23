// One cell in the file: how its storage is spelled, which values fit its newtype, and what its code
// in `gaps` is.
//
// A code is the number of a gap (abi.h), 0 for a value that the row shows, or kUnbounded: a limit
// that is not one. The reference's field has null for "no limit" and for "no file" alike; the code
// tells them apart. It reaches the file.
//
// What is here:   the facts that writer and reader share.
// What is not:    writing cells (row_writer.hpp), filling them (row_filler.hpp).

#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/column.hpp"

namespace ctprof {

inline constexpr std::uint8_t kUnbounded = 255;
// What a limit without bound is in its column.
inline constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();

// The smallest and the largest that a number may be.
struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};
Bounds bounds_of(const MetricDef& def);

// Whether null in the file may mean "no bound".
bool may_be_unbounded(const MetricDef& def);

// Whether a bool is written as 0 or 1.
bool is_number(const MetricDef& def);

// JSON for a cell without value; empty when its key is left out, as it is where the definition's
// own text is no JSON.
std::string absent_json(const MetricDef& def);

// Tells the codes of a column's cells. A number that its newtype cannot hold, which no reader would
// take, counts as Malformed.
class CellCodes {
 public:
  explicit CellCodes(const Column& column);
  // Whether a cell's code is more than its gap.
  bool are_checked() const { return checked_; }
  std::uint8_t operator[](std::size_t row) const {
    const ctprof_gap gap = column_->gaps()[row];
    return gap != CTPROF_VALUE || !checked_ ? gap : of_value(row);
  }

 private:
  std::uint8_t of_value(std::size_t row) const;

  const Column* column_;
  Bounds bounds_;
  bool unbounded_;
  bool checked_;
};

// The memory that one cell of a column takes, its gap included.
inline std::size_t bytes_per_row(Storage storage) {
  const std::size_t value = storage == Storage::Bool ? 1
                            : is_pooled(storage)     ? sizeof(Id)
                                                     : sizeof(std::uint64_t);
  return value + sizeof(ctprof_gap);
}

}  // namespace ctprof
