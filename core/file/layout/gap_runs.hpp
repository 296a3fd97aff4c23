// The file's `gaps`: why cells hold no value, as run lengths.
//
//   {"thread": [{"columns": ["wait_sum", "wait_max"], "runs": [5, 900, 0, 100]}, ...], ...}
//
// Runs are pairs of a code (cell.hpp) and how many rows have it; they add up to the table's rows.
// Columns with the same runs share them, and a column all of whose cells show a value is not named.
// A code that this version does not know is taken for Malformed: there was a reason, and we do not
// understand it.

#pragma once

#include <boost/json/value.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/budget.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Appends one table's list; "[]" when nothing is missing.
void write_gaps(std::span<const Column* const> columns, JsonWriter& out);

// Sets the gaps of a loaded table, whose cells are values where the rows had any. A cell that
// `gaps` calls a value but whose row shows none keeps its gap. What it takes is spent of `work`;
// where that has no more, it ends with an error.
Result<void> apply_gaps(const boost::json::value& gaps, std::string_view table_name, Table& table,
                        Work& work);

}  // namespace ctprof
