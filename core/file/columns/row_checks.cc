#include "core/file/columns/row_checks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

Result<void> check_all_present(const Snapshot& snapshot, Entity entity, std::string_view name) {
  const Table& table = snapshot.table(entity);
  const Column* column = table.find(name);
  if (table.rows == 0) return {};
  if (!column)
    return Error{"the registry has no '" + std::string(name) + "', without which rows of " +
                 std::string(ctprof::name(entity)) + " cannot be distinguished"};
  const auto missing = std::find_if(column->gaps().begin(), column->gaps().end(),
                                    [](ctprof_gap gap) { return gap != CTPROF_VALUE; });
  if (missing == column->gaps().end()) return {};
  return Error{"row " + std::to_string(missing - column->gaps().begin()) + " of " +
               std::string(ctprof::name(entity)) + " has no " + std::string(name)};
}

Error order_error(Entity entity, std::size_t row) {
  return {"row " + std::to_string(row) + " of " + std::string(name(entity)) + " is out of order"};
}

Result<void> check_threads(const Snapshot& snapshot) {
  const Table& threads = snapshot.threads();
  if (threads.rows == 0) return {};
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64();
  // Rows of exited threads follow those of living threads and have an order of their own.
  const std::size_t living = snapshot.window ? snapshot.window->living_threads : threads.rows;
  for (std::size_t row = 1; row < threads.rows; ++row)
    if (row != living && std::pair(tgid[row - 1], tid[row - 1]) > std::pair(tgid[row], tid[row]))
      return order_error(Entity::Thread, row);
  return {};
}

// Checks that the processes are exactly those of the living threads, in the same order.
Result<void> check_processes(const Snapshot& snapshot) {
  const Table &threads = snapshot.threads(), &processes = snapshot.table(Entity::Process);
  if (processes.rows == 0) return {};
  const auto process_tgids = processes.find(kProcessTgid)->u64();
  const std::size_t living = snapshot.window ? snapshot.window->living_threads : threads.rows;
  const auto thread_tgids =
      living > 0 ? threads.find(kTgid)->u64().first(living) : process_tgids.first(0);
  std::size_t next = 0;
  for (std::size_t row = 0; row < thread_tgids.size(); ++row) {
    if (row > 0 && thread_tgids[row] == thread_tgids[row - 1]) continue;
    if (next == process_tgids.size() || process_tgids[next++] != thread_tgids[row])
      return Error{"the process rows do not match the tgids of the thread rows"};
  }
  return next == process_tgids.size()
             ? Result<void>()
             : Error{"the process rows do not match the tgids of the thread rows"};
}

Result<void> check_cgroups(const Snapshot& snapshot) {
  const Table& cgroups = snapshot.table(Entity::Cgroup);
  if (cgroups.rows == 0) return {};
  const auto ids = cgroups.find(kCgroupPath)->ids();
  for (std::size_t row = 1; row < cgroups.rows; ++row)
    if (snapshot.pools->texts[ids[row - 1]] > snapshot.pools->texts[ids[row]])
      return order_error(Entity::Cgroup, row);
  return {};
}

Result<void> check_identities(const Snapshot& snapshot) {
  for (const auto& [entity, name] :
       {std::pair{Entity::Thread, kTgid}, std::pair{Entity::Thread, kTid},
        std::pair{Entity::Process, kProcessTgid}, std::pair{Entity::Cgroup, kCgroupPath}})
    CTPROF_TRY(check_all_present(snapshot, entity, name));
  return {};
}

Result<void> check_rows(const Snapshot& snapshot) {
  CTPROF_TRY(check_identities(snapshot));
  CTPROF_TRY(check_threads(snapshot));
  CTPROF_TRY(check_processes(snapshot));
  return check_cgroups(snapshot);
}

// Sorts the cells by row, because several workers appended them, and rejects repeated rows.
Result<void> sort_kept_keys(KeptKeys& kept, Entity entity) {
  const auto by_row = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (auto& [path, cells] : kept) {
    std::sort(cells.begin(), cells.end(), by_row);
    const auto repeated =
        std::adjacent_find(cells.begin(), cells.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    if (repeated != cells.end())
      return Error{"row " + std::to_string(repeated->first) + " of " + std::string(name(entity)) +
                   " has '" + path.substr(0, 40) + "' twice"};
  }
  return {};
}

Result<void> sort_kept_keys(Snapshot& snapshot) {
  for (const Entity entity : kAllEntities) {
    const auto index = static_cast<std::size_t>(entity);
    CTPROF_TRY(sort_kept_keys(snapshot.extras->unknown_keys[index], entity));
    CTPROF_TRY(sort_kept_keys(snapshot.extras->unknown_base_cells[index], entity));
  }
  return {};
}

}  // namespace

Result<void> check_and_sort_rows(Snapshot& snapshot) {
  CTPROF_TRY(check_rows(snapshot));
  return sort_kept_keys(snapshot);
}

Result<void> check_and_sort_opening_only(Snapshot& opening_only) {
  CTPROF_TRY(check_identities(opening_only));
  CTPROF_TRY(check_threads(opening_only));
  const Column* tgids = opening_only.table(Entity::Process).find(kProcessTgid);
  for (std::size_t row = 1; tgids && row < tgids->rows(); ++row)
    if (tgids->u64()[row - 1] >= tgids->u64()[row]) return order_error(Entity::Process, row);
  CTPROF_TRY(check_cgroups(opening_only));
  return sort_kept_keys(opening_only);
}

}  // namespace ctprof::columns
