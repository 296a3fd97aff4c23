// Writes captures as rows of a table; the Parquet form, which uses Python and DuckDB.

#pragma once

#include <functional>

#include "core/base/result.hpp"
#include "core/tables/table_columns.hpp"
#include "core/tables/table_rows.hpp"
#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// Adds all captures to the rows and finishes them.
using FillTable = std::function<Result<void>(TableRows& rows)>;
using MakeTable = std::function<Result<void>(const TableColumns& columns, const FillTable& fill)>;

// Determines the columns of the captures that the options name, and calls make(columns, fill).
// Fails with an error of `make` or of reading.
Result<void> write_table(const ExportOptions& options, const MakeTable& make);

// Writes the table as Parquet and prints its name and size. Returns the exit status; if Python
// failed, that of Python, which has printed the error.
int export_parquet(const ExportOptions& options, const TableRowsOptions& shape,
                   const Target& target);

}  // namespace ctprof::cli
