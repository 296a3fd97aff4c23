// Writes the cells of a column as fields of rows.
//
// A number that readers of the file reject is a gap here, too: Malformed.
//
// See also: table_rows.hpp (the rows).

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "core/file/layout/cell.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/tables/text_row_writer.hpp"

namespace ctprof {

class TableCells {
 public:
  // `column` may be null if the file lacks it. `part`: of a histogram (TableColumn). REQUIRES: all
  // outlive this object.
  TableCells(const Column* column, const Pools& pools, std::string_view part = {});

  Gap get_gap(std::size_t row) const;
  // Returns the text if it is not valid UTF-8; nothing otherwise.
  std::optional<std::string_view> get_invalid_text(std::size_t row) const;

  // Writes one field; null for a gap.
  void put(std::size_t row, TextRowWriter& out) const;
  // Writes one row, or one for each key of a map or element of an array. Calls `begin`, writes the
  // fields `key`, `value`, `exact`, `text`, `raw` and `gap`, and calls `end` with the key of a map.
  // A histogram has a row for each part; the columns of its parts add no rows.
  void put_long(std::size_t row, const std::function<void()>& begin,
                const std::function<void(std::optional<std::string_view>)>& end,
                TextRowWriter& out) const;

 private:
  Storage storage() const { return column_->def().storage; }
  void put_map(std::size_t row, TextRowWriter& out) const;
  void put_array(std::size_t row, TextRowWriter& out) const;
  void put_histogram_part(std::size_t row, TextRowWriter& out) const;
  void put_value(std::size_t row, TextRowWriter& out) const;

  const Column* column_;
  const Pools* pools_;
  std::string_view part_;
  std::optional<CellCodes> codes_;
};

}  // namespace ctprof
