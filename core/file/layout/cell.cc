#include "core/file/layout/cell.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include "core/base/json_scanner.hpp"

namespace ctprof {
namespace {

// Newtypes whose range is smaller than that of their storage.
struct NarrowNewtype {
  std::string_view newtype;
  Bounds bounds;
};
constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::uint64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxUint32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxUint16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::array<NarrowNewtype, 4> kNarrowNewtypes{{
    {"IdU32", {0, kMaxUint32}},
    {"OrdinalU32", {0, kMaxUint32}},
    {"OrdinalI32", {kMinInt32, kMaxInt32}},
    {"GaugeRatio100", {0, kMaxUint16}},
}};

bool is_within_bounds(std::int64_t value, Bounds bounds) {
  return value >= bounds.min && (value < 0 || static_cast<std::uint64_t>(value) <= bounds.max);
}

}  // namespace

Bounds bounds_of(const MetricDef& def) {
  for (const NarrowNewtype& narrow : kNarrowNewtypes)
    if (narrow.newtype == def.newtype) return narrow.bounds;
  if (def.storage == Storage::I64)
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  return {};
}

bool may_be_unbounded(const MetricDef& def) {
  return def.storage == Storage::U64 && def.newtype.starts_with("Limit") &&
         def.file_absent == "null";
}

bool is_written_as_number(const MetricDef& def) {
  return def.storage == Storage::Bool && def.file_unit == "0-or-1";
}

std::string json_of_absent_cell(const MetricDef& def) {
  return def.file_absent != "omit" && is_json(def.file_absent) ? def.file_absent : "";
}

CellCodes::CellCodes(const Column& column)
    : column_(&column),
      bounds_(bounds_of(column.def())),
      unbounded_(may_be_unbounded(column.def())) {
  const Storage storage = column.def().storage;
  const bool narrow =
      bounds_.max != kNoBound && (storage == Storage::U64 || storage == Storage::I64);
  depends_on_value_ = narrow || unbounded_ || storage == Storage::F64;
}

std::uint8_t CellCodes::code_of_value(std::size_t row) const {
  bool fine = true;
  switch (column_->def().storage) {
    case Storage::U64:
      if (unbounded_ && column_->u64()[row] == kNoBound) return kUnbounded;
      fine = column_->u64()[row] <= bounds_.max;
      break;
    case Storage::I64: fine = is_within_bounds(column_->i64()[row], bounds_); break;
    case Storage::F64: fine = std::isfinite(column_->f64()[row]); break;
    default: break;
  }
  return fine ? CTPROF_VALUE : CTPROF_MALFORMED;
}

}  // namespace ctprof
