#include "core/window/opening_only.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

// Returns whether the column is stored for rows that only the opening has: columns that identify or
// group a row, and gauges.
bool is_kept_of_opening(const MetricDef& def) {
  if (def.hidden || is_recorded(def)) return false;
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
    const Column* known = from.table(entity).find(column.def().name);
    if (!known || !same_meaning(known->def(), column.def())) continue;
    for (std::size_t at = 0; at < rows.size(); ++at)
      copy_cell(column, static_cast<std::uint32_t>(first + at), *to.pools, *known, rows[at],
                *from.pools);
  }
}

void reorder(Table& table, std::span<const std::uint32_t> order) {
  const auto runs = runs_of(order);
  std::vector<std::byte> scratch;
  for (Column& column : table.columns) column.permute(runs, scratch);
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
void sort_threads(Snapshot& begin, std::size_t known) {
  Table& threads = begin.threads();
  const auto ids = ids_of(threads, kTgid, kTid);
  std::vector<std::uint32_t> order(threads.rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return ids[row]; });
  reorder(threads, order);
  if (begin.read_at.size() != known) return;
  std::vector<std::uint64_t> read_at;
  std::uint64_t last = begin.read_at.empty() ? 0 : begin.read_at.front();
  for (const std::uint32_t row : order) {
    if (row < known) last = begin.read_at[row];
    read_at.push_back(last);
  }
  begin.read_at = std::move(read_at);
}

void fill_processes(Snapshot& begin, const Snapshot& opening_only) {
  Table& processes = begin.table(Entity::Process);
  const Table& exited = opening_only.table(Entity::Process);
  const Column *tgids = processes.find_u64(kProcessTgid), *ids = exited.find_u64(kProcessTgid);
  if (!tgids || !ids) return;
  std::map<std::uint64_t, std::uint32_t> row_of;
  for (std::uint32_t row = 0; row < exited.rows; ++row) row_of.emplace(ids->u64()[row], row);
  for (Column& column : processes.columns) {
    const Column* known = exited.find(column.def().name);
    if (!known || !same_meaning(known->def(), column.def())) continue;
    for (std::uint32_t row = 0; row < processes.rows; ++row)
      if (const auto it = row_of.find(tgids->u64()[row]); it != row_of.end())
        copy_cell(column, row, *begin.pools, *known, it->second, *opening_only.pools);
  }
}

void add_cgroups(Snapshot& begin, const Snapshot& opening_only) {
  const Table& removed = opening_only.table(Entity::Cgroup);
  const Column* paths = begin.table(Entity::Cgroup).find(kCgroupPath);
  if (removed.rows == 0 || !paths || paths->def().storage != Storage::String) return;
  std::vector<std::uint32_t> rows(removed.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  append_rows(begin, Entity::Cgroup, opening_only, rows);
  std::vector<std::uint32_t> order(begin.table(Entity::Cgroup).rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) {
    return paths->has_value(row) ? begin.pools->texts[paths->ids()[row]] : std::string_view{};
  });
  reorder(begin.table(Entity::Cgroup), order);
}

}  // namespace

void add_opening_only(Snapshot& found, const Snapshot& before, const Snapshot& after, Entity entity,
                      std::span<const Earlier> earlier) {
  if (entity == Entity::Host) return;
  const Table& then = before.table(entity);
  std::vector<bool> lives(then.rows);
  for (const Earlier& row : earlier)
    if (row.row != kNoRow) lives[row.row] = true;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < then.rows; ++row)
    if (!lives[row]) rows.push_back(row);
  for (const Column& now : after.table(entity).columns) {
    const Column* column = then.find(now.def().name);
    if (column && is_kept_of_opening(now.def()) && same_meaning(column->def(), now.def()))
      found.table(entity).add(now.shared_def(), Gap::NotInFile).provenance = now.provenance;
  }
  append_rows(found, entity, before, rows);
}

void restore_threads(Snapshot& begin, const Snapshot& opening_only) {
  const auto known = ids_of(begin.threads(), kTid, kStartTime);
  const auto exited = ids_of(opening_only.threads(), kTid, kStartTime);
  const std::set<ThreadId> there(known.begin(), known.end());
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < exited.size(); ++row)
    if (!there.contains(exited[row])) rows.push_back(row);
  if (rows.empty() || ids_of(begin.threads(), kTgid, kTid).size() != begin.threads().rows) return;
  const std::size_t rows_before = begin.threads().rows;
  append_rows(begin, Entity::Thread, opening_only, rows);
  sort_threads(begin, rows_before);
}

void restore_processes_and_cgroups(Snapshot& begin, const Snapshot& opening_only) {
  fill_processes(begin, opening_only);
  add_cgroups(begin, opening_only);
}

}  // namespace ctprof
