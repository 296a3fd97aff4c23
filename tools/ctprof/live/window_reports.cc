#include "tools/ctprof/live/window_reports.hpp"

#include <cmath>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/compare/report/recorder_rows.hpp"
#include "core/file/capture_file.hpp"
#include "core/registry/identity.hpp"
#include "core/window/accounting.hpp"
#include "core/window/differences.hpp"

namespace ctprof::live {
namespace {

std::uint64_t read_number(const Column* column, std::uint32_t row) {
  const bool has_value = column && column->def().storage == Storage::U64 && column->has_value(row);
  return has_value ? column->u64()[row] : 0;
}

std::string read_text(const Snapshot& window, const Column* column, std::uint32_t row) {
  const bool has_value =
      column && column->def().storage == Storage::String && column->has_value(row);
  return has_value ? std::string(window.pools->texts[column->ids()[row]]) : std::string();
}

std::vector<ThreadId> list_thread_ids(const Snapshot& window) {
  const Table& threads = window.threads();
  const Column *tgid = threads.find(kTgid), *tid = threads.find(kTid),
               *start = threads.find(kStartTime);
  std::vector<ThreadId> ids;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    ids.push_back({read_number(tgid, row), read_number(tid, row), read_number(start, row)});
  return ids;
}

// Returns the value of a screen column for one thread, or NaN.
double read_figure(const PlannedMetric& metric, const Column* column, std::uint32_t row,
                   double seconds) {
  if (!column || column->def().storage != Storage::U64 || !column->has_value(row) || seconds <= 0)
    return kNaN;
  const auto value = static_cast<double>(column->u64()[row]);
  return to_screen_value(metric, counts_up(column->def()) ? value / seconds : value);
}

}  // namespace

WindowReporter::WindowReporter(const Registry& registry, std::span<const std::string> recorders,
                               Spec spec)
    : registry_(&registry),
      derived_(registry.derived_metrics_for(recorders)),
      spec_(std::move(spec)) {
  spec_.busiest = false;
  spec_.only_changed = true;
  spec_.tests_rows = false;
}

Result<Snapshot> WindowReporter::load(const Sample& sample) const {
  return CaptureFile(*sample.bytes, {"a window of the history"}).load(registry_->vocabulary());
}

Result<Snapshot> WindowReporter::differences(const Sample& sample) const {
  auto window = load(sample);
  if (window) convert_to_differences(*window);
  return window;
}

Result<Report> WindowReporter::report(std::span<const Snapshot* const> windows,
                                      GroupBy axis) const {
  Spec spec = spec_;
  spec.group_by = axis;
  return Report::make(windows, spec, {&registry_->rules(), derived_});
}

std::vector<ThreadRow> WindowReporter::threads(const Snapshot& window, const Report& report,
                                               GroupBy axis, const std::string& group) const {
  Spec spec = spec_;
  spec.group_by = axis;
  RowGrouper grouper(spec);
  const RowGroups groups = grouper.add(window);
  const std::vector<std::string> names = grouper.keys();
  const auto& of_row = groups.group_of_row[static_cast<std::size_t>(Entity::Thread)];
  const Table& threads = window.threads();
  const std::vector<ThreadId> ids = list_thread_ids(window);
  const Column *comm = threads.find(kComm), *state = threads.find("state"),
               *kernel = threads.find(kKernelThread);
  const auto& columns = report.screen()->columns;
  std::vector<const Column*> cells;
  for (const ScreenColumn& column : columns)
    cells.push_back(threads.find(report.metrics()[column.metric].name));
  std::vector<double> seconds;
  for (const Column* column : cells) {
    const auto covered = column ? covered_ns(window, *column) : std::nullopt;
    seconds.push_back(covered ? static_cast<double>(*covered) / 1e9
                              : report.sides().front().window->rates_over_ns / 1e9);
  }
  const auto& started = window.window->openings[static_cast<std::size_t>(Entity::Thread)].started;
  std::vector<ThreadRow> found;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (of_row[row] == kNoGroup || names[groups.groups.keys[of_row[row]]] != group) continue;
    ThreadRow& thread = found.emplace_back();
    thread.id = ids[row];
    thread.name = read_text(window, comm, row);
    thread.state = read_text(window, state, row);
    thread.is_started = row < started.size() && started[row] != 0;
    thread.is_kernel = is_flag_set(kernel, row);
    thread.has_exited = row >= window.window->living_threads;
    for (std::size_t at = 0; at < columns.size(); ++at)
      thread.figures.push_back(
          read_figure(report.metrics()[columns[at].metric], cells[at], row, seconds[at]));
  }
  return found;
}

std::optional<std::uint32_t> find_row(const Snapshot& window, const ThreadId& thread) {
  const std::vector<ThreadId> ids = list_thread_ids(window);
  for (std::uint32_t row = 0; row < ids.size(); ++row)
    if (ids[row] == thread) return row;
  return std::nullopt;
}

}  // namespace ctprof::live
