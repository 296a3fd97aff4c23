// Stores information that the rows of a file cannot represent, in `gaps` and `raw`.
//
// `gaps` contains why cells have no value, as run lengths:
//
//   {"thread": [{"columns": ["wait_sum", "wait_max"], "runs": [5, 900, 0, 100]}, ...], ...}
//
// Runs are pairs of a code (cell.hpp) and the number of rows with it; they add up to the table's
// rows. Columns with equal runs share them, and a column without gaps is not listed. A code that
// this version does not know is read as Malformed: there was a reason, but it is not known.
//
// `raw` contains the exact bytes of texts that are not valid UTF-8:
//
//   {"thread": {"comm": [{"hex": "6261ff", "rows": [7, 1, 30, 2]}]}, ...}
//
// The row itself has a valid rendering of the text. `rows` are pairs of a first row and a count
// where the text has these bytes. Keys of maps have no such record, because the kernel spells them
// in ASCII.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Appends one table's list; "[]" if all cells have values.
void write_gaps(std::span<const Column* const> columns, JsonWriter& out);

// Sets the gaps of a loaded table from its list, in which cells have a value where the rows contain
// one. A cell keeps its gap if `gaps` calls it a value but its row has none. The steps are deducted
// from `work`; fails if that is exhausted.
Result<void> apply_gaps(std::string_view gaps, std::string_view table_name, Table& table,
                        WorkBudget& work);

// Returns the ids of texts that are not valid UTF-8, ascending.
std::vector<Id> invalid_texts(const TextPool& texts);

// Appends one table's object; "{}" if it has none of the `invalid` texts.
void write_raw(std::span<const Column* const> columns, std::span<const Id> invalid,
               const TextPool& texts, JsonWriter& out);

// Sets the exact bytes of texts in a loaded table from its object. The steps are deducted from
// `work`; fails if that is exhausted.
Result<void> apply_raw(std::string_view raw, std::string_view table_name, Table& table,
                       TextPool& texts, WorkBudget& work);

}  // namespace ctprof
