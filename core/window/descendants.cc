#include "core/window/descendants.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// The pid, and the start of its leader in ticks.
using ProcessKey = std::pair<std::uint64_t, std::uint64_t>;

struct Process {
  ProcessKey key;
  std::uint64_t parent = 0;
  bool is_marked = false;
};

std::vector<Process> list_processes(const Table& threads) {
  std::vector<Process> processes;
  const Column *tids = threads.find(kTid), *tgids = threads.find(kTgid),
               *starts = threads.find(kStartTime), *parents = threads.find(kParent),
               *marks = threads.find(kDescendant);
  if (!tids || !tgids || !starts) return processes;
  for (std::size_t row = 0; row < threads.rows; ++row)
    if (tids->u64()[row] == tgids->u64()[row])
      processes.push_back({{tids->u64()[row], starts->u64()[row]},
                           parents && parents->has_value(row) ? parents->u64()[row] : 0,
                           marks && marks->has_value(row) && marks->bools()[row] != 0});
  return processes;
}

// Returns known members of the family, independent of their parents.
std::set<ProcessKey> known_members(const std::vector<Process>& before,
                                   const ExitedThreads& exited) {
  std::set<ProcessKey> members;
  for (const Process& process : before)
    if (process.is_marked) members.insert(process.key);
  for (const Process& process : list_processes(exited.rows.threads()))
    if (process.is_marked) members.insert(process.key);
  for (const ForkedProcess& birth : exited.forks)
    members.insert({birth.tgid, birth.start_clock_ticks});
  return members;
}

// Returns the descendants that are found without searching for children.
std::vector<std::uint64_t> find_direct_members(const std::vector<Process>& before,
                                               const ExitedThreads& exited,
                                               const std::vector<Process>& processes,
                                               const Family& family, std::uint64_t last_tick) {
  const std::set<ProcessKey> members = known_members(before, exited);
  std::set<ProcessKey> old_processes;
  for (const Process& process : before) old_processes.insert(process.key);
  std::vector<std::uint64_t> found{family.command};
  for (const auto& [name, parent, is_marked] : processes) {
    const bool is_adopted = family.subreaper_pid != 0 && parent == family.subreaper_pid &&
                            !old_processes.contains(name) && name.second < last_tick;
    if (is_adopted || members.contains(name)) found.push_back(name.first);
  }
  return found;
}

// Returns these processes and all their descendants.
std::set<std::uint64_t> add_descendants(std::vector<std::uint64_t> found,
                                        const std::vector<Process>& processes) {
  std::multimap<std::uint64_t, std::uint64_t> children;
  for (const Process& process : processes) children.emplace(process.parent, process.key.first);
  std::set<std::uint64_t> all;
  while (!found.empty()) {
    const std::uint64_t process = found.back();
    found.pop_back();
    if (!all.insert(process).second) continue;
    const auto [first, last] = children.equal_range(process);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  return all;
}

}  // namespace

void mark_descendants(const Snapshot& before, Snapshot& after, const ExitedThreads& exited,
                      const Family& family) {
  Table& threads = after.threads();
  const std::uint64_t tick = ns_per_tick(after.meta.user_hz);
  const std::vector<Process> processes = list_processes(threads);
  const auto all =
      add_descendants(find_direct_members(list_processes(before.threads()), exited, processes,
                                          family, after.meta.start.boottime_ns / tick),
                      processes);
  Column& marks = threads.add(identity_metric(kDescendant), Gap::None);
  marks.provenance = {identity_metric(kDescendant).plugin, "window", Gap::None, {}};
  const auto tgids = std::as_const(*threads.find(kTgid)).u64();
  for (std::size_t row = 0; row < threads.rows; ++row)
    marks.bools()[row] = all.contains(tgids[row]);
}

}  // namespace ctprof
