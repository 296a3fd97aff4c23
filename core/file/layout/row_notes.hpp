// What the rows of a file cannot say, told beside them in `gaps` and `raw`.
//
// `gaps` says why cells hold no value, as run lengths:
//
//   {"thread": [{"columns": ["wait_sum", "wait_max"], "runs": [5, 900, 0, 100]}, ...], ...}
//
// Runs are pairs of a code (cell.hpp) and how many rows have it; they add up to the table's rows.
// Columns with the same runs share them, and a column whose cells all show a value is not named. A
// code that this version does not know is read as Malformed: there was a reason that we do not
// understand.
//
// `raw` holds the exact bytes of texts that are not valid UTF-8:
//
//   {"thread": {"comm": [{"hex": "6261ff", "rows": [7, 1, 30, 2]}]}, ...}
//
// The row itself has a valid rendering of the text; `rows` are pairs of a first row and a count
// where the text is really these bytes. Keys of maps have no such record: they come from the
// kernel, which spells them in ASCII.

#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Appends one table's list; "[]" when nothing is missing.
void write_gaps(std::span<const Column* const> columns, JsonWriter& out);

// Sets the gaps of a loaded table, whose cells are values where the rows had any. A cell that
// `gaps` calls a value but whose row shows none keeps its gap. What it takes is spent of `work`;
// where that has no more, it ends with an error.
Result<void> apply_gaps(const boost::json::value& gaps, std::string_view table_name, Table& table,
                        Work& work);

// The ids of texts that are not valid, ascending.
std::vector<Id> invalid_texts(const TextPool& texts);

// Appends one table's object; "{}" when none of its texts is among `invalid`.
void write_raw(std::span<const Column* const> columns, std::span<const Id> invalid,
               const TextPool& texts, JsonWriter& out);

// Puts the exact bytes into a loaded table. What it takes is spent of `work`; where that has no
// more, it ends with an error.
Result<void> apply_raw(const boost::json::value& raw, std::string_view table_name, Table& table,
                       TextPool& texts, Work& work);

}  // namespace ctprof
