// Captures as rows of a table for whoever writes them; and Parquet, which Python does, on DuckDB.

#pragma once

#include <functional>

#include "core/base/result.hpp"
#include "core/tables/table_columns.hpp"
#include "core/tables/table_rows.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// Adds all captures to the rows, and finishes them.
using FillTable = std::function<Result<void>(TableRows& rows)>;
using MakeTable = std::function<Result<void>(const TableColumns& columns, const FillTable& fill)>;

// Finds the columns of what the options name, and calls make(columns, fill). The error may be that
// of reading.
Result<void> write_table(const Options& options, const MakeTable& make);

// Writes the table as Parquet, and tells that. Returns the exit status: that of Python where it
// failed, which has said why.
int export_parquet(const Options& options, const TableShape& shape, const Target& target);

}  // namespace ctprof::cli
