// ctprof export --to ndjson, csv and parquet: captures as tables. And the list of what `export`
// makes of figures, prometheus (export_prometheus.hpp) included.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/file_kind.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// To add a form, add a line in export_tables.cc.
struct TableExport {
  std::string_view name;
  std::string_view mark;  // what such a file begins with
  // Writes the file, and tells that or what was wrong. Returns the exit status.
  int (*run)(const Options& options, const Target& target);
};

// Null if there is none of that name.
const TableExport* find_table_export(std::string_view name);
std::vector<std::string> table_export_names();

}  // namespace ctprof::cli
