#include "core/window/accounting.hpp"

#include <algorithm>
#include <string_view>

#include "core/window/differences.hpp"
#include "core/window/merge_exited_threads.hpp"

namespace ctprof {
namespace {

// --- CPU time ---

const Column* find_number_column(const Snapshot& window, Entity entity, std::string_view role) {
  return find_role(window.table(entity).columns, role);
}

// Returns a value of the host; nullopt if it is missing.
std::optional<double> host_value(const Snapshot& window, std::string_view role) {
  const Column* column = find_number_column(window, Entity::Host, role);
  if (!column || column->rows() == 0 || !column->has_value(0)) return {};
  return static_cast<double>(column->u64()[0]);
}

bool host_flag(const Snapshot& window, std::string_view role) {
  const Column* column = find_role(window.table(Entity::Host).columns, role, Storage::Bool);
  return column && column->rows() > 0 && column->has_value(0) && column->bools()[0] != 0;
}

double sum(const Column& column, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t row = first; row < last; ++row)
    if (column.has_value(row)) sum += static_cast<double>(column.u64()[row]);
  return sum;
}

void divide_cpu_time(const Snapshot& window, const Column& run, Accounting& accounting) {
  const double wall = mean_thread_time_ns(*window.window);
  const double scale = wall > 0 ? accounting.wall / wall : 1;
  const std::size_t living = window.window->living_threads;
  accounting.living = sum(run, 0, living) * scale;
  accounting.exited = sum(run, living, run.rows()) * scale;
  accounting.unaccounted = accounting.busy - accounting.living - accounting.exited;
}

}  // namespace

double mean_thread_time_ns(const Window& window) {
  const auto& is_started = window.openings[static_cast<std::size_t>(Entity::Thread)].started;
  double sum = 0, threads = 0;
  for (std::size_t row = 0; row < std::min(window.living_threads, window.seen_times.size());
       ++row) {
    if (is_started[row] || window.seen_times[row].first == 0) continue;
    sum += static_cast<double>(window.seen_times[row].last - window.seen_times[row].first);
    ++threads;
  }
  return threads > 0 ? sum / threads : 0;
}

std::optional<std::uint64_t> covered_ns(const Snapshot& snapshot, const Column& column) {
  if (!is_recorded(column.def())) return std::nullopt;
  const auto tally = std::ranges::find_if(snapshot.meta.stacks, [&](const StackTally& tally) {
    return tally.plugin == column.provenance.plugin && tally.source == column.provenance.source;
  });
  return tally == snapshot.meta.stacks.end() ? std::nullopt : tally->covered_ns;
}

std::optional<Accounting> compute_accounting(const Snapshot& window) {
  const auto wall = host_value(window, "host-wall"), cpus = host_value(window, "host-cpus"),
             idle = host_value(window, "host-idle");
  const Column* run = find_number_column(window, Entity::Thread, "run-time");
  if (!wall || !cpus || !idle || !run || *wall <= 0) return {};
  Accounting accounting;
  accounting.cpus = static_cast<std::uint64_t>(*cpus);
  accounting.wall = *wall;
  accounting.steal = host_value(window, "host-steal").value_or(0);
  accounting.interrupts =
      host_value(window, "host-irq").value_or(0) + host_value(window, "host-softirq").value_or(0);
  accounting.is_steal_separate = host_flag(window, "host-steal-apart");
  accounting.are_interrupts_separate = host_flag(window, "host-irq-apart");
  accounting.busy = *cpus * *wall - *idle - host_value(window, "host-iowait").value_or(0);
  if (accounting.is_steal_separate) accounting.busy -= accounting.steal;
  if (accounting.are_interrupts_separate) accounting.busy -= accounting.interrupts;
  accounting.busy = std::max(accounting.busy, 0.0);
  const double seconds = std::max(*wall / 1e9, 1.0);
  const double tick = 1e9 / static_cast<double>(std::max<std::uint64_t>(window.meta.user_hz, 1));
  accounting.max_error = *cpus * seconds * tick;
  divide_cpu_time(window, *run, accounting);
  return accounting;
}

// --- rows ---

namespace {

bool has_no_base(const Column& column, std::size_t row) { return column.gap(row) == Gap::NoBase; }

bool has_any_value(const Column& column) {
  const auto gaps = column.gaps();
  return std::ranges::find(gaps, ctprof_gap{CTPROF_VALUE}) != gaps.end();
}

bool has_any_no_base(const Column& column) {
  const auto gaps = column.gaps();
  return std::ranges::find(gaps, static_cast<ctprof_gap>(Gap::NoBase)) != gaps.end();
}

// By thread row: bit 0 if some counter is NoBase; bit 1 if some counter has a value, or the thread
// was read at the opening.
std::vector<std::uint8_t> reading_bits_by_row(const Snapshot& window) {
  const Table& threads = window.threads();
  std::vector<std::uint8_t> reading_bits(threads.rows);
  for (const Column& opening_column :
       window.window->openings[static_cast<std::size_t>(Entity::Thread)].columns)
    for (std::size_t row = 0; row < threads.rows; ++row)
      reading_bits[row] |= opening_column.has_value(row) ? 2 : 0;
  for (const Column& column : threads.columns) {
    if (!counts_up(column.def()) || !has_any_value(column)) continue;
    for (std::size_t row = 0; row < threads.rows; ++row)
      reading_bits[row] |= column.has_value(row) ? 2 : has_no_base(column, row) ? 1 : 0;
  }
  return reading_bits;
}

void count_no_base(const Snapshot& window, WindowRows& rows) {
  for (const Table& table : window.tables)
    for (const Column& column : table.columns)
      if (counts_up(column.def()) && has_any_no_base(column) && !has_any_value(column))
        rows.metrics_not_in_opening.push_back(column.def().name);
  const std::vector<std::uint8_t> reading_bits = reading_bits_by_row(window);
  rows.not_in_opening = static_cast<std::uint64_t>(std::ranges::count(reading_bits, 1));
  const Column* run = find_number_column(window, Entity::Thread, "run-time");
  for (std::size_t row = 0; run && row < reading_bits.size(); ++row)
    rows.in_progress += reading_bits[row] != 1 && has_no_base(*run, row) ? 1 : 0;
}

}  // namespace

WindowRows count_rows(const Snapshot& window) {
  const Window& window_data = *window.window;
  const auto& is_started = window_data.openings[static_cast<std::size_t>(Entity::Thread)].started;
  const std::vector<std::uint64_t> threads = threads_by_row(window);
  WindowRows rows;
  rows.after = window_data.living_threads;
  for (std::size_t row = 0; row < threads.size(); ++row) {
    (is_started[row] ? rows.started : rows.before) += threads[row];
    if (row >= window_data.living_threads) rows.exited += threads[row];
  }
  count_no_base(window, rows);
  return rows;
}

}  // namespace ctprof
