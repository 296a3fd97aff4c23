#include "core/compare/grouping/row_groups.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// The row of each thread that exited inside the window, by (tid, start time).
using ExitedRows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>;
ExitedRows find_exited_rows(const Snapshot& snapshot) {
  ExitedRows found;
  const auto tids = u64_values(snapshot.threads(), kTid);
  const auto starts = u64_values(snapshot.threads(), kStartTime);
  for (std::size_t row = snapshot.window->living_threads;
       row < std::min(tids.size(), starts.size()); ++row)
    found.emplace(std::pair(tids[row], starts[row]), row);
  return found;
}

}  // namespace

decltype(RowGroups::group_of_row) renumber_groups(RowGroups rows, const RowGroups& run) {
  std::unordered_map<std::uint32_t, std::uint32_t> number_of;
  for (std::uint32_t group = 0; group < run.groups.keys.size(); ++group)
    number_of.emplace(run.groups.keys[group], group);
  for (auto& groups_of_entity : rows.group_of_row)
    for (std::uint32_t& group : groups_of_entity) {
      if (group == kNoGroup) continue;
      const auto found = number_of.find(rows.groups.keys[group]);
      group = found == number_of.end() ? kNoGroup : found->second;
    }
  return std::move(rows.group_of_row);
}

void regroup_exited_threads(RowGroups& run, const Snapshot& snapshot, bool by_text) {
  const Snapshot& opening = *snapshot.window->opening_only;
  const ExitedRows exited_rows = find_exited_rows(snapshot);
  const auto tids = u64_values(opening.threads(), kTid),
             tgids = u64_values(opening.threads(), kTgid),
             starts = u64_values(opening.threads(), kStartTime);
  const auto process_tgids = u64_values(opening.table(Entity::Process), kProcessTgid);
  auto& threads = run.group_of_opening_row[static_cast<std::size_t>(Entity::Thread)];
  auto& processes = run.group_of_opening_row[static_cast<std::size_t>(Entity::Process)];
  if (tids.size() != threads.size() || tgids.size() != tids.size() || starts.size() != tids.size())
    return;
  for (std::size_t row = 0; row < threads.size(); ++row) {
    const auto found = exited_rows.find(std::pair(tids[row], starts[row]));
    if (found == exited_rows.end()) continue;
    const auto process = std::ranges::lower_bound(process_tgids, tgids[row]);
    const bool has_process = process != process_tgids.end() && *process == tgids[row];
    if (by_text && has_process) continue;
    threads[row] = run.group_of_row[static_cast<std::size_t>(Entity::Thread)][found->second];
    if (has_process && tids[row] == tgids[row])
      processes[static_cast<std::size_t>(process - process_tgids.begin())] = threads[row];
  }
}

}  // namespace ctprof
