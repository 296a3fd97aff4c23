#include "core/window/accounting.hpp"

#include <algorithm>
#include <string_view>

#include "core/window/happened.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

// --- CPU time ---

const Column* numbers(const Snapshot& window, Entity entity, std::string_view role) {
  return find_role(window.table(entity).columns, role);
}

// Returns a value of the host; nullopt if it is missing.
std::optional<double> of_host(const Snapshot& window, std::string_view role) {
  const Column* column = numbers(window, Entity::Host, role);
  if (!column || column->rows() == 0 || !column->has_value(0)) return {};
  return static_cast<double>(column->u64()[0]);
}

bool is_true(const Snapshot& window, std::string_view role) {
  const Column* column = find_role(window.table(Entity::Host).columns, role, Storage::Bool);
  return column && column->rows() > 0 && column->has_value(0) && column->bools()[0] != 0;
}

double sum(const Column& column, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t row = first; row < last; ++row)
    if (column.has_value(row)) sum += static_cast<double>(column.u64()[row]);
  return sum;
}

void explain(const Snapshot& window, const Column& run, Accounting& accounting) {
  const double wall = mean_time_of_threads(*window.window);
  const double scale = wall > 0 ? accounting.wall / wall : 1;
  const std::size_t living = window.window->living;
  accounting.living = sum(run, 0, living) * scale;
  accounting.ended = sum(run, living, run.rows()) * scale;
  accounting.unexplained = accounting.busy - accounting.living - accounting.ended;
}

}  // namespace

double mean_time_of_threads(const Window& window) {
  const auto& born = window.openings[static_cast<std::size_t>(Entity::Thread)].born;
  double sum = 0, threads = 0;
  for (std::size_t row = 0; row < std::min(window.living, window.seen.size()); ++row) {
    if (born[row] || window.seen[row].first == 0) continue;
    sum += static_cast<double>(window.seen[row].last - window.seen[row].first);
    ++threads;
  }
  return threads > 0 ? sum / threads : 0;
}

std::optional<std::uint64_t> covered_ns(const Snapshot& snapshot, const Column& column) {
  if (!is_recorded(column.def())) return std::nullopt;
  const auto by = std::ranges::find_if(snapshot.meta.stacks, [&](const StackTally& tally) {
    return tally.plugin == column.provenance.plugin && tally.source == column.provenance.source;
  });
  return by == snapshot.meta.stacks.end() ? std::nullopt : by->covered_ns;
}

std::optional<Accounting> account(const Snapshot& window) {
  const auto wall = of_host(window, "host-wall"), cpus = of_host(window, "host-cpus"),
             idle = of_host(window, "host-idle");
  const Column* run = numbers(window, Entity::Thread, "run-time");
  if (!wall || !cpus || !idle || !run || *wall <= 0) return {};
  Accounting accounting;
  accounting.cpus = static_cast<std::uint64_t>(*cpus);
  accounting.wall = *wall;
  accounting.steal = of_host(window, "host-steal").value_or(0);
  accounting.interrupts =
      of_host(window, "host-irq").value_or(0) + of_host(window, "host-softirq").value_or(0);
  accounting.steal_apart = is_true(window, "host-steal-apart");
  accounting.interrupts_apart = is_true(window, "host-irq-apart");
  accounting.busy = *cpus * *wall - *idle - of_host(window, "host-iowait").value_or(0);
  if (accounting.steal_apart) accounting.busy -= accounting.steal;
  if (accounting.interrupts_apart) accounting.busy -= accounting.interrupts;
  accounting.busy = std::max(accounting.busy, 0.0);
  const double seconds = std::max(*wall / 1e9, 1.0);
  const double tick = 1e9 / static_cast<double>(std::max<std::uint64_t>(window.meta.user_hz, 1));
  accounting.error = *cpus * seconds * tick;
  explain(window, *run, accounting);
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
std::vector<std::uint8_t> known_by_row(const Snapshot& window) {
  const Table& threads = window.threads();
  std::vector<std::uint8_t> known(threads.rows);
  for (const Column& then :
       window.window->openings[static_cast<std::size_t>(Entity::Thread)].columns)
    for (std::size_t row = 0; row < threads.rows; ++row) known[row] |= then.has_value(row) ? 2 : 0;
  for (const Column& column : threads.columns) {
    if (!counts_up(column.def()) || !has_any_value(column)) continue;
    for (std::size_t row = 0; row < threads.rows; ++row)
      known[row] |= column.has_value(row) ? 2 : has_no_base(column, row) ? 1 : 0;
  }
  return known;
}

void count_no_base(const Snapshot& window, WindowRows& rows) {
  for (const Table& table : window.tables)
    for (const Column& column : table.columns)
      if (counts_up(column.def()) && has_any_no_base(column) && !has_any_value(column))
        rows.unread.push_back(column.def().name);
  const std::vector<std::uint8_t> known = known_by_row(window);
  rows.unmet = static_cast<std::uint64_t>(std::ranges::count(known, 1));
  const Column* run = numbers(window, Entity::Thread, "run-time");
  for (std::size_t row = 0; run && row < known.size(); ++row)
    rows.in_progress += known[row] != 1 && has_no_base(*run, row) ? 1 : 0;
}

}  // namespace

WindowRows count_rows(const Snapshot& window) {
  const Window& what = *window.window;
  const auto& born = what.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const std::vector<std::uint64_t> threads = threads_by_row(window);
  WindowRows rows;
  rows.after = what.living;
  for (std::size_t row = 0; row < threads.size(); ++row) {
    (born[row] ? rows.born : rows.before) += threads[row];
    if (row >= what.living) rows.ended += threads[row];
  }
  count_no_base(window, rows);
  return rows;
}

}  // namespace ctprof
