// The cells of a column as fields of rows.
//
// A number that no reader of the file would take is a gap here, too: Malformed.
//
// Not here: rows (table_rows.hpp).

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "core/file/layout/cell.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/tables/row_text.hpp"

namespace ctprof {

class TableCells {
 public:
  // `column` may be null: nothing is in the file. REQUIRES: both outlive this.
  TableCells(const Column* column, const Pools& pools);

  Gap gap(std::size_t row) const;
  // None where there is none, or where it is a text and UTF-8.
  std::optional<std::string_view> odd_text(std::size_t row) const;

  // One field; null for a gap.
  void put(std::size_t row, RowText& out) const;
  // The fields `key`, `value`, `exact`, `text`, `raw` and `gap`, behind those that begin() puts:
  // one row of them, or one for each key of a map or an array that has any.
  void put_long(std::size_t row, const std::function<void()>& begin, RowText& out) const;

 private:
  Storage storage() const { return column_->def().storage; }
  void put_map(std::size_t row, RowText& out) const;
  void put_array(std::size_t row, RowText& out) const;
  void put_value(std::size_t row, RowText& out) const;

  const Column* column_;
  const Pools* pools_;
  std::optional<CellCodes> codes_;
};

}  // namespace ctprof
