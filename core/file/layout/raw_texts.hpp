// The file's `raw`: the exact bytes of texts that are not valid UTF-8.
//
//   {"thread": {"comm": [{"hex": "6261ff", "rows": [7, 1, 30, 2]}]}, ...}
//
// The row itself has a valid rendering of the text; `rows` are pairs of a first row and a count
// where it is really these bytes. Keys of maps have no such record: they come from the kernel,
// which spells them in ASCII.

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
