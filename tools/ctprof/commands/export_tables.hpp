// ctprof export --to ndjson, csv and parquet: writes captures as tables. Also lists all table forms
// of `export`, including prometheus (export_prometheus.hpp).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/runtime/file_kind.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// A form of output. To add one, add a line in export_tables.cc.
struct TableExport {
  std::string_view name;
  std::string_view signature;  // the first bytes of such a file
  // Writes the file and prints its name and size, or the error. Returns the exit status.
  int (*run)(const ExportOptions& options, const Target& target);
};

// Returns null if no form has that name.
const TableExport* find_table_export(std::string_view name);
std::vector<std::string> table_export_names();

}  // namespace ctprof::cli
