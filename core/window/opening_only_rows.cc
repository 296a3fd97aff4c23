#include "core/window/opening_only_rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

// Returns whether the column is stored for rows that only the opening has: columns that identify or
// group a row, and gauges.
bool is_stored_for_opening(const MetricDef& def) {
  if (def.is_hidden || is_recorded(def)) return false;
  return def.family == "identity" || def.storage == Storage::String || has_gauges(def);
}

// Appends these rows of `from` to the table, for the columns that the table has.
void append_rows(Snapshot& to, Entity entity, const Snapshot& from,
                 std::span<const std::uint32_t> rows) {
  Table& table = to.table(entity);
  const std::size_t first = table.rows;
  table.rows += rows.size();
  for (Column& column : table.columns) {
    column.resize(table.rows, Gap::ThreadGone);
    const Column* source_column = from.table(entity).find(column.def().name);
    if (!source_column || !has_same_meaning(source_column->def(), column.def())) continue;
    for (std::size_t i = 0; i < rows.size(); ++i)
      copy_cell(column, static_cast<std::uint32_t>(first + i), *to.pools, *source_column, rows[i],
                *from.pools);
  }
}

void reorder(Table& table, std::span<const std::uint32_t> order) {
  const auto runs = find_row_ranges(order);
  std::vector<std::byte> scratch;
  for (Column& column : table.columns) column.reorder_rows(runs, scratch);
}

using ThreadId = std::pair<std::uint64_t, std::uint64_t>;

// Returns (tid, start) or (tgid, tid) of each row; empty if a column is missing.
std::vector<ThreadId> ids_of(const Table& threads, std::string_view first,
                             std::string_view second) {
  const Column *firsts = threads.find_u64(first), *seconds = threads.find_u64(second);
  std::vector<ThreadId> ids;
  for (std::size_t row = 0; firsts && seconds && row < threads.rows; ++row)
    ids.emplace_back(firsts->u64()[row], seconds->u64()[row]);
  return ids;
}

// Sorts the threads. An added thread gets the read time of the thread before it.
void sort_threads(Snapshot& opening, std::size_t known_rows) {
  Table& threads = opening.threads();
  const auto ids = ids_of(threads, kTgid, kTid);
  std::vector<std::uint32_t> order(threads.rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return ids[row]; });
  reorder(threads, order);
  if (opening.read_at.size() != known_rows) return;
  std::vector<std::uint64_t> read_at;
  std::uint64_t last = opening.read_at.empty() ? 0 : opening.read_at.front();
  for (const std::uint32_t row : order) {
    if (row < known_rows) last = opening.read_at[row];
    read_at.push_back(last);
  }
  opening.read_at = std::move(read_at);
}

void fill_processes(Snapshot& opening, const Snapshot& opening_only) {
  Table& processes = opening.table(Entity::Process);
  const Table& exited = opening_only.table(Entity::Process);
  const Column *tgids = processes.find_u64(kProcessTgid), *ids = exited.find_u64(kProcessTgid);
  if (!tgids || !ids) return;
  std::map<std::uint64_t, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < exited.rows; ++row) row_of.emplace(ids->u64()[row], row);
  for (Column& column : processes.columns) {
    const Column* source_column = exited.find(column.def().name);
    if (!source_column || !has_same_meaning(source_column->def(), column.def())) continue;
    for (std::uint32_t row = 0; row < processes.rows; ++row)
      if (const auto it = row_of.find(tgids->u64()[row]); it != row_of.end())
        copy_cell(column, row, *opening.pools, *source_column, it->second, *opening_only.pools);
  }
}

void add_cgroups(Snapshot& opening, const Snapshot& opening_only) {
  const Table& removed = opening_only.table(Entity::Cgroup);
  const Column* paths = opening.table(Entity::Cgroup).find(kCgroupPath);
  if (removed.rows == 0 || !paths || paths->def().storage != Storage::String) return;
  std::vector<std::uint32_t> rows(removed.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  append_rows(opening, Entity::Cgroup, opening_only, rows);
  std::vector<std::uint32_t> order(opening.table(Entity::Cgroup).rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) {
    return paths->has_value(row) ? opening.pools->texts[paths->ids()[row]] : std::string_view{};
  });
  reorder(opening.table(Entity::Cgroup), order);
}

}  // namespace

void add_opening_only_rows(Snapshot& opening_only, const Snapshot& before, const Snapshot& after,
                           Entity entity, std::span<const RowMatch> earlier) {
  if (entity == Entity::Host) return;
  const Table& before_table = before.table(entity);
  std::vector<bool> is_living(before_table.rows);
  for (const RowMatch& row : earlier)
    if (row.row != kNoRow) is_living[row.row] = true;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < before_table.rows; ++row)
    if (!is_living[row]) rows.push_back(row);
  for (const Column& after_column : after.table(entity).columns) {
    const Column* column = before_table.find(after_column.def().name);
    if (column && is_stored_for_opening(after_column.def()) &&
        has_same_meaning(column->def(), after_column.def()))
      opening_only.table(entity).add(after_column.shared_def(), Gap::NotInFile).provenance =
          after_column.provenance;
  }
  append_rows(opening_only, entity, before, rows);
}

void restore_threads(Snapshot& opening, const Snapshot& opening_only) {
  const auto known_ids = ids_of(opening.threads(), kTid, kStartTime);
  const auto exited = ids_of(opening_only.threads(), kTid, kStartTime);
  const std::set<ThreadId> known_set(known_ids.begin(), known_ids.end());
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < exited.size(); ++row)
    if (!known_set.contains(exited[row])) rows.push_back(row);
  if (rows.empty() || ids_of(opening.threads(), kTgid, kTid).size() != opening.threads().rows)
    return;
  const std::size_t rows_before = opening.threads().rows;
  append_rows(opening, Entity::Thread, opening_only, rows);
  sort_threads(opening, rows_before);
}

void restore_processes_and_cgroups(Snapshot& opening, const Snapshot& opening_only) {
  fill_processes(opening, opening_only);
  add_cgroups(opening, opening_only);
}

}  // namespace ctprof
