#include "tools/ctprof/commands/export_tables.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/compare/request/spec.hpp"
#include "core/tables/table_columns.hpp"
#include "core/tables/table_rows.hpp"
#include "tools/ctprof/commands/export_parquet.hpp"
#include "tools/ctprof/commands/export_prometheus.hpp"
#include "tools/ctprof/inputs/capture_reader.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"

namespace ctprof::cli {
namespace {

constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host};

// Returns the contents of the table. A file with one table contains threads by default; a note then
// mentions that the captures contain more.
Result<TableRowsOptions> choose_table_shape(const ExportOptions& options, TableFormat form,
                                            bool holds_one_table) {
  TableRowsOptions shape{form, options.rows.entities, options.rows.is_long, options.csv_safe};
  if (!options.entity.empty()) {
    if (!shape.entities.empty()) return Error{"--entity selects rows: omit --rows"};
    Spec spec;
    if (auto selected = select_entity(spec, options.entity); !selected) return selected.error();
    shape.entities = {spec.entity};
  }
  if (shape.is_long) {
    if (shape.entities.empty()) shape.entities.assign(kAllEntities.begin(), kAllEntities.end());
    return shape;
  }
  if (!holds_one_table) {
    if (shape.entities.empty()) shape.entities = {Entity::Thread, Entity::Cgroup};
    return shape;
  }
  if (shape.entities.size() > 1)
    return Error{"a file in " + std::string(options.form.name) +
                 " holds one table; select --rows threads, cgroups, processes, host or long"};
  if (shape.entities.empty()) {
    shape.entities = {Entity::Thread};
    print_note(
        options,
        "writing rows of threads; select other rows with --rows cgroups, processes, host or long");
  }
  return shape;
}

}  // namespace

Result<void> write_table(const ExportOptions& options, const MakeTable& make) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto captures, CaptureReader::find(options, options, layouts.vocabulary()));
  TableColumns columns(options.metrics.value_or(std::vector<std::string>()));
  CTPROF_TRY(captures.visit_outlines([&](const Snapshot& capture) { columns.add(capture); }));
  CTPROF_TRY(columns.check_selected());
  if (const auto entity = find_plugin_entity(options.entity);
      entity && columns.get_columns(*entity).empty())
    return error("reading --entity", options.entity, "no input has rows of it");
  for (const std::string& sentence : columns.notes()) print_note(options, sentence);
  return make(columns, [&](TableRows& rows) -> Result<void> {
    auto read_result = captures.read_all([&](Snapshot capture) {
      rows.add(capture);
      return rows.get_write_result();
    });
    return read_result ? rows.finish() : read_result;
  });
}

namespace {

int write_text_table(const ExportOptions& options, const Target& target, TableFormat form) {
  const auto shape = choose_table_shape(options, form, form == TableFormat::Csv);
  if (!shape) return fail(shape.error());
  const auto written = write_to(target, options, [&](Sink& sink) {
    return write_table(options, [&](const TableColumns& columns, const FillTable& fill) {
      TableRows rows(*shape, columns, sink);
      return fill(rows);
    });
  });
  return written ? report_written_file(options, target, *written) : fail(written.error());
}

int write_ndjson(const ExportOptions& options, const Target& target) {
  return write_text_table(options, target, TableFormat::Ndjson);
}

int write_csv(const ExportOptions& options, const Target& target) {
  return write_text_table(options, target, TableFormat::Csv);
}

int write_parquet(const ExportOptions& options, const Target& target) {
  const auto shape = choose_table_shape(options, TableFormat::Ndjson, true);
  return shape ? export_parquet(options, *shape, target) : fail(shape.error());
}

constexpr std::array kTableExports{
    TableExport{"ndjson", "{\"capture\":", &write_ndjson},
    TableExport{"csv", "capture,captured_at,", &write_csv},
    TableExport{"parquet", "PAR1", &write_parquet},
    TableExport{kPrometheus, "# HELP ctprof_", &export_prometheus},
};

}  // namespace

const TableExport* find_table_export(std::string_view name) {
  const auto it = std::ranges::find(kTableExports, name, &TableExport::name);
  return it == kTableExports.end() ? nullptr : &*it;
}

std::vector<std::string> table_export_names() {
  std::vector<std::string> names;
  for (const TableExport& form : kTableExports) names.emplace_back(form.name);
  return names;
}

}  // namespace ctprof::cli
