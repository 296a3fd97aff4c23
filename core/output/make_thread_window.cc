#include "core/output/make_thread_window.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/output/describe_window.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

OutputMetric define_column(const Column& column, bool is_window) {
  const MetricDef& def = column.def();
  const bool is_increase = is_window && def.family == "cumulative";
  return {is_increase ? ctprof_output_metric_flags{CTPROF_OUTPUT_INCREASE} : 0,
          def.name,
          "",
          def.unit,
          def.family,
          std::string(name(Entity::Thread))};
}

std::string label_of(const Column* column, std::size_t row) {
  return column && column->has_value(row) ? std::to_string(column->u64()[row]) : "0";
}

ctprof_output_cell cell_of(const Column& column, std::size_t row) {
  if (!column.has_value(row)) return {no_number(), 0, 1};
  return {make_number(column.u64()[row]), 1, 1};
}

}  // namespace

OutputWindow make_thread_window(const Snapshot& snapshot, std::span<const std::string> metrics) {
  OutputWindow window;
  std::optional<std::uint64_t> length_ns;
  if (snapshot.window)
    length_ns = snapshot.meta.start.boottime_ns - snapshot.window->opened_at.boottime_ns;
  describe_window(snapshot.meta, length_ns, window);
  if (snapshot.window) window.start_ns = snapshot.window->opened_at.wall_unix_ns;
  OutputTable table;
  table.label_names = {"tgid", "tid"};
  std::vector<const Column*> columns;
  for (const std::string& metric : metrics)
    if (const Column* column = snapshot.threads().find_u64(metric)) {
      columns.push_back(column);
      table.metrics.push_back(define_column(*column, snapshot.window.has_value()));
    }
  const Column* const tgid = snapshot.threads().find_u64(kTgid);
  const Column* const tid = snapshot.threads().find_u64(kTid);
  for (std::size_t row = 0; row < snapshot.threads().rows; ++row) {
    OutputRow& out = table.rows.emplace_back();
    out.labels = {label_of(tgid, row), label_of(tid, row)};
    for (const Column* column : columns) out.cells.push_back(cell_of(*column, row));
  }
  window.tables.push_back(std::move(table));
  return window;
}

}  // namespace ctprof
