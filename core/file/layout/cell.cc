#include "core/file/layout/cell.hpp"

#include <array>
#include <boost/json/parse.hpp>
#include <cmath>
#include <string_view>

namespace ctprof {
namespace {

// Newtypes whose range is smaller than that of their storage.
struct Narrow {
  std::string_view newtype;
  Bounds bounds;
};
constexpr std::int64_t kLeast32 = std::numeric_limits<std::int32_t>::min();
constexpr std::uint64_t kMostSigned32 = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMost16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::array<Narrow, 4> kNarrow{{
    {"IdU32", {0, kMost32}},
    {"OrdinalU32", {0, kMost32}},
    {"OrdinalI32", {kLeast32, kMostSigned32}},
    {"GaugeRatio100", {0, kMost16}},
}};

bool is_json(const std::string& text) {
  boost::system::error_code failed;
  boost::json::parse(text, failed);
  return !failed;
}

bool fits(std::int64_t value, Bounds bounds) {
  return value >= bounds.least && (value < 0 || static_cast<std::uint64_t>(value) <= bounds.most);
}

}  // namespace

Bounds bounds_of(const MetricDef& def) {
  for (const Narrow& narrow : kNarrow)
    if (narrow.newtype == def.newtype) return narrow.bounds;
  if (def.storage == Storage::I64)
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  return {};
}

bool may_be_unbounded(const MetricDef& def) {
  return def.storage == Storage::U64 && def.newtype.starts_with("Limit") &&
         def.file_absent == "null";
}

bool is_number(const MetricDef& def) {
  return def.storage == Storage::Bool && def.file_unit == "0-or-1";
}

std::string absent_json(const MetricDef& def) {
  return def.file_absent != "omit" && is_json(def.file_absent) ? def.file_absent : "";
}

CellCodes::CellCodes(const Column& column)
    : column_(&column),
      bounds_(bounds_of(column.def())),
      unbounded_(may_be_unbounded(column.def())) {
  const Storage storage = column.def().storage;
  const bool narrow =
      bounds_.most != kNoBound && (storage == Storage::U64 || storage == Storage::I64);
  checked_ = narrow || unbounded_ || storage == Storage::F64;
}

std::uint8_t CellCodes::of_value(std::size_t row) const {
  bool fine = true;
  switch (column_->def().storage) {
    case Storage::U64:
      if (unbounded_ && column_->u64()[row] == kNoBound) return kUnbounded;
      fine = column_->u64()[row] <= bounds_.most;
      break;
    case Storage::I64: fine = fits(column_->i64()[row], bounds_); break;
    case Storage::F64: fine = std::isfinite(column_->f64()[row]); break;
    default: break;
  }
  return fine ? CTPROF_VALUE : CTPROF_MALFORMED;
}

}  // namespace ctprof
