#include "tools/ctprof/live/told.hpp"

#include <cmath>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/grouping/group_book.hpp"
#include "core/compare/report/own_rows.hpp"
#include "core/file/read/load.hpp"
#include "core/registry/identity.hpp"
#include "core/window/accounting.hpp"
#include "core/window/happened.hpp"

namespace ctprof::live {
namespace {

std::uint64_t number_at(const Column* column, std::uint32_t row) {
  const bool is_there = column && column->def().storage == Storage::U64 && column->has_value(row);
  return is_there ? column->u64()[row] : 0;
}

std::string text_at(const Snapshot& window, const Column* column, std::uint32_t row) {
  const bool is_there =
      column && column->def().storage == Storage::String && column->has_value(row);
  return is_there ? std::string(window.pools->texts[column->ids()[row]]) : std::string();
}

std::vector<ThreadId> ids_of(const Snapshot& window) {
  const Table& threads = window.threads();
  const Column *tgid = threads.find(kTgid), *tid = threads.find(kTid),
               *start = threads.find(kStartTime);
  std::vector<ThreadId> ids;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    ids.push_back({number_at(tgid, row), number_at(tid, row), number_at(start, row)});
  return ids;
}

// Returns the value of a screen column for one thread, or NaN.
double figure_at(const PlannedMetric& metric, const Column* column, std::uint32_t row,
                 double seconds) {
  if (!column || column->def().storage != Storage::U64 || !column->has_value(row) || seconds <= 0)
    return kNaN;
  const auto value = static_cast<double>(column->u64()[row]);
  return screen_figure(metric, counts_up(column->def()) ? value / seconds : value);
}

}  // namespace

Teller::Teller(const Registry& registry, std::span<const std::string> recorders, Spec spec)
    : registry_(&registry), derived_(registry.derived_with(recorders)), spec_(std::move(spec)) {
  spec_.busiest = false;
  spec_.moved_only = true;
  spec_.judge_rows = false;
}

Result<Snapshot> Teller::load(const Sample& sample) const {
  return load_bytes(*sample.bytes, CaptureName{"a window of the history"}, registry_->vocabulary());
}

Result<Snapshot> Teller::differences(const Sample& sample) const {
  auto window = load(sample);
  if (window) to_differences(*window);
  return window;
}

Result<Report> Teller::report(std::span<const Snapshot* const> windows, GroupBy axis) const {
  Spec spec = spec_;
  spec.group_by = axis;
  return Report::make(windows, spec, {&registry_->rules(), derived_});
}

std::vector<ThreadRow> Teller::threads(const Snapshot& window, const Report& report, GroupBy axis,
                                       const std::string& group) const {
  Spec spec = spec_;
  spec.group_by = axis;
  GroupBook book(spec);
  const RowGroups groups = book.add(window);
  const std::vector<std::string> names = book.keys();
  const auto& of_row = groups.of_row[static_cast<std::size_t>(Entity::Thread)];
  const Table& threads = window.threads();
  const std::vector<ThreadId> ids = ids_of(window);
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
  const auto& born = window.window->openings[static_cast<std::size_t>(Entity::Thread)].born;
  std::vector<ThreadRow> found;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (of_row[row] == kNoGroup || names[groups.groups.keys[of_row[row]]] != group) continue;
    ThreadRow& one = found.emplace_back();
    one.id = ids[row];
    one.name = text_at(window, comm, row);
    one.state = text_at(window, state, row);
    one.is_born = row < born.size() && born[row] != 0;
    one.is_kernel = is_flag_set(kernel, row);
    one.has_ended = row >= window.window->living;
    for (std::size_t at = 0; at < columns.size(); ++at)
      one.figures.push_back(
          figure_at(report.metrics()[columns[at].metric], cells[at], row, seconds[at]));
  }
  return found;
}

std::optional<std::uint32_t> row_of(const Snapshot& window, const ThreadId& thread) {
  const std::vector<ThreadId> ids = ids_of(window);
  for (std::uint32_t row = 0; row < ids.size(); ++row)
    if (ids[row] == thread) return row;
  return std::nullopt;
}

}  // namespace ctprof::live
