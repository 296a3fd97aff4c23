// Describes one cell in the file: its spelling by storage, the values that fit its newtype, and its
// code in `gaps`.
//
// A code is the number of a gap (abi.h), 0 for a value that the row shows, or kUnbounded for an
// unlimited limit. In the reference's layout, null means both "no limit" and "no file"; the code
// distinguishes them. It is stored in the file.
//
// Contents: the facts that writer and reader share.
//
// See also: row_writer.hpp, which writes cells, and row_filler.hpp, which fills them.

#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/column.hpp"

namespace ctprof {

inline constexpr std::uint8_t kUnbounded = 255;
// The value of an unlimited limit in its column.
inline constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();

// The smallest and largest legal value of a number.
struct Bounds {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};
Bounds bounds_of(const MetricDef& def);

// Returns whether null in the file can mean "no bound".
bool may_be_unbounded(const MetricDef& def);

// Returns whether a bool is written as 0 or 1.
bool is_written_as_number(const MetricDef& def);

// Returns the JSON of a cell without value. Empty if the key is left out, or if the definition's
// own text is not JSON.
std::string json_of_absent_cell(const MetricDef& def);

// Returns the codes of a column's cells. A number outside the range of its newtype, which readers
// reject, counts as Malformed.
class CellCodes {
 public:
  explicit CellCodes(const Column& column);
  // Returns whether the code of a cell can differ from its gap.
  bool depend_on_value() const { return depends_on_value_; }
  std::uint8_t operator[](std::size_t row) const {
    const ctprof_gap gap = column_->gaps()[row];
    return gap != CTPROF_VALUE || !depends_on_value_ ? gap : code_of_value(row);
  }

 private:
  std::uint8_t code_of_value(std::size_t row) const;

  const Column* column_;
  Bounds bounds_;
  bool unbounded_;
  bool depends_on_value_;
};

// Returns the memory of one cell of a column, including its gap.
inline std::size_t bytes_per_row(Storage storage) {
  const std::size_t value = storage == Storage::Bool ? 1
                            : is_pooled(storage)     ? sizeof(Id)
                                                     : sizeof(std::uint64_t);
  return value + sizeof(ctprof_gap);
}

}  // namespace ctprof
