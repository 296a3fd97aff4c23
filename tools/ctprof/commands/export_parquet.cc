#include "tools/ctprof/commands/export_parquet.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/file/write/out_file.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/python.hpp"

namespace ctprof::cli {
namespace {

constexpr const char* kScript = "ctprof_fleet/parquet.py";

// Returns the type name in DuckDB.
std::string_view duckdb_type(Storage storage) {
  switch (storage) {
    case Storage::U64:
    case Storage::Stacks: return "UBIGINT";
    case Storage::I64: return "BIGINT";
    case Storage::F64: return "DOUBLE";
    case Storage::Bool: return "BOOLEAN";
    case Storage::String:
    case Storage::Bitset: return "VARCHAR";
    case Storage::Map: return "MAP(VARCHAR, UBIGINT)";
    case Storage::Array: return "UBIGINT[]";
  }
  return "VARCHAR";
}

// Returns the type of a field that is not a metric.
std::string_view duckdb_type(std::string_view field, bool is_long) {
  if (field == "captured_at") return "TIMESTAMPTZ_NS";
  if (field == "window_ns" || field == "exact") return "UBIGINT";
  if (field == "born" || field == "ended") return "BOOLEAN";
  if (field == "value") return "DOUBLE";
  return field == "raw" && !is_long ? "MAP(VARCHAR, VARCHAR)" : "VARCHAR";
}

// Returns the line that describes the columns to Python.
std::string columns_line(const TableRowsOptions& shape, const TableColumns& columns) {
  const Entity entity = shape.entities.front();
  const auto names = shape.is_long ? make_long_field_names(columns, shape.entities)
                                   : make_field_names(columns, entity);
  JsonWriter line;
  line.raw("{\"columns\":[");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t metric = i - kCommonFields.size();
    const bool is_metric =
        !shape.is_long && i >= kCommonFields.size() && metric < columns.get_columns(entity).size();
    line.put('[');
    line.text(names[i]);
    line.put(',');
    line.text(is_metric ? duckdb_type(columns.get_columns(entity)[metric].storage)
                        : duckdb_type(names[i], shape.is_long));
    line.raw("],");
  }
  line.close(']');
  line.raw("}\n");
  return std::string(line.view());
}

}  // namespace

int export_parquet(const ExportOptions& options, const TableRowsOptions& shape,
                   const Target& target) {
  if (auto checked = find_python(kScript); !checked) return fail(checked.error());
  auto file = OutFile::create(target.destination, output_fd());
  if (!file) return fail(file.error());
  int status = kSuccess;
  const auto done =
      write_table(options, [&](const TableColumns& columns, const FillTable& fill) -> Result<void> {
        PythonStreams streams{.script = kScript, .output = file->descriptor()};
        streams.feed = [&](Sink& sink) -> Result<void> {
          CTPROF_TRY(sink.write(columns_line(shape, columns)));
          TableRows rows(shape, columns, sink);
          return fill(rows);
        };
        CTPROF_TRY_VALUE(const auto status_result, run_python({}, streams));
        status = status_result;
        return {};
      });
  if (!done) return fail(done.error());
  if (status != kSuccess) return status;
  file->read_size();
  if (auto committed = file->commit(options.sync); !committed) return fail(committed.error());
  return report_written_file(options, target, file->bytes());
}

}  // namespace ctprof::cli
