#include "core/window/complete_exited_threads.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/thread_identities.hpp"

namespace ctprof {
namespace {

// Copies missing cells of an exited thread from a row of another snapshot.
void fill_missing_cells(ExitedThreads& exited, std::uint32_t row, const Snapshot& from,
                        std::uint32_t from_row, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    Column* cells = exited.rows.threads().find(key);
    const Column* source_column = from.threads().find(key);
    if (cells && source_column && !cells->has_value(row))
      copy_cell(*cells, row, *exited.rows.pools, *source_column, from_row, *from.pools);
  }
}

// For sources with approximate start times: finds the listed thread with the same tid and the
// nearest start time within the tolerance. Copies its start time and other missing cells.
void resolve_start_times(const Snapshot& snapshot, ExitedThreads& exited) {
  Column* tolerance = exited.rows.threads().find(kStartErrorTicks);
  if (!tolerance) return;
  const std::vector<ThreadIdentity> names = thread_identities(snapshot.threads());
  std::unordered_multimap<std::uint64_t, std::uint32_t> rows_of;
  for (std::uint32_t row = 0; row < names.size(); ++row) rows_of.emplace(names[row].tid, row);
  const std::vector<ThreadIdentity> imprecise = thread_identities(exited.rows.threads());
  for (std::uint32_t row = 0; row < imprecise.size(); ++row) {
    std::uint64_t nearest = tolerance->has_value(row) ? tolerance->u64()[row] : 0;
    const auto [first, last] = rows_of.equal_range(imprecise[row].tid);
    for (auto it = first; it != last; ++it) {
      const std::uint64_t start = names[it->second].start;
      const std::uint64_t distance =
          std::max(start, imprecise[row].start) - std::min(start, imprecise[row].start);
      if (distance > nearest) continue;
      nearest = tolerance->u64()[row] = distance;
      exited.rows.threads().find(kStartTime)->u64()[row] = start;
      fill_missing_cells(exited, row, snapshot, it->second, {kTgid, kPcomm, kCgroup});
    }
  }
}

// Fills in missing process names from the leaders of the processes.
void fill_process_names(const Snapshot& from, ExitedThreads& exited) {
  const Column* pcomm = exited.rows.threads().find(kPcomm);
  if (!pcomm || std::ranges::count(pcomm->gaps(), CTPROF_VALUE) == std::ssize(pcomm->gaps()))
    return;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  const std::vector<ThreadIdentity> names = thread_identities(from.threads());
  for (std::uint32_t row = 0; row < names.size(); ++row)
    if (names[row].tid == names[row].tgid) row_of.emplace(names[row].tgid, row);
  const std::vector<ThreadIdentity> incomplete = thread_identities(exited.rows.threads());
  for (std::uint32_t row = 0; row < incomplete.size(); ++row)
    if (const auto it = row_of.find(incomplete[row].tgid); it != row_of.end())
      fill_missing_cells(exited, row, from, it->second, {kPcomm});
}

// Treats a thread without a known process as a process of its own, with the thread's name.
void use_threads_as_processes(ExitedThreads& exited) {
  Table& threads = exited.rows.threads();
  Column *tgids = threads.find(kTgid), *pcomms = threads.find(kPcomm);
  const Column *tids = threads.find(kTid), *comms = threads.find(kComm);
  if (!tgids || !pcomms || !tids || !comms) return;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (tgids->has_value(row)) continue;
    tgids->copy_from(row, *tids, row);
    pcomms->copy_from(row, *comms, row);
  }
}

// A row of a thread in one of the snapshots or in the exited threads.
struct RowReference {
  const Snapshot* rows;
  std::uint32_t row;
};

// Finds the cgroups of threads through their processes and the ancestors of these.
class CgroupResolver {
 public:
  CgroupResolver(const Snapshot& before, const Snapshot& after, ExitedThreads& exited)
      : exited_(&exited), names_(thread_identities(exited.rows.threads())) {
    for (const Snapshot* snapshot : {&after, &before}) {
      const auto names = thread_identities(snapshot->threads());
      for (std::uint32_t row = 0; row < names.size(); ++row)
        if (names[row].is_leader())
          listed_leaders_.try_emplace(names[row].tgid, RowReference{snapshot, row});
    }
    for (std::uint32_t row = 0; row < names_.size(); ++row)
      if (names_[row].is_leader()) exited_leaders_.try_emplace(names_[row].tgid, row);
  }

  // Returns the number of threads that got the cgroup of an ancestor.
  std::size_t complete_all() {
    const Column* cgroups = exited_->rows.threads().find(kCgroup);
    std::size_t inherited = 0;
    for (std::uint32_t row = 0; cgroups && row < names_.size(); ++row) {
      if (cgroups->has_value(row)) continue;
      const auto own_leader = listed_leaders_.find(names_[row].tgid);
      const bool has_listed_leader =
          !names_[row].is_leader() && own_leader != listed_leaders_.end();
      const RowReference* from = has_listed_leader ? &own_leader->second : find_ancestor(row);
      if (!from) continue;
      fill_missing_cells(*exited_, row, *from->rows, from->row, {kCgroup});
      inherited += !has_listed_leader && cgroups->has_value(row) ? 1 : 0;
    }
    return inherited;
  }

 private:
  // Limit of the depth of nested shells and programs; real hosts have fewer levels.
  static constexpr int kMaxAncestors = 32;
  // Process 1 and kthreadd.
  static constexpr std::uint64_t kLastExcludedPid = 2;

  // Returns the nearest listed ancestor, or null.
  const RowReference* find_ancestor(std::uint32_t row) const {
    const Column* parents = exited_->rows.threads().find_u64(kParent);
    for (int depth = 0; parents && depth < kMaxAncestors; ++depth) {
      if (!parents->has_value(row) || parents->u64()[row] <= kLastExcludedPid) return nullptr;
      const std::uint64_t parent = parents->u64()[row];
      if (const auto leader = listed_leaders_.find(parent); leader != listed_leaders_.end())
        return &leader->second;
      const auto exited = exited_leaders_.find(parent);
      if (exited == exited_leaders_.end()) return nullptr;
      row = exited->second;
    }
    return nullptr;
  }

  ExitedThreads* exited_;
  std::vector<ThreadIdentity> names_;
  std::unordered_map<std::uint64_t, RowReference> listed_leaders_;   // leaders, by tgid
  std::unordered_map<std::uint64_t, std::uint32_t> exited_leaders_;  // leaders, by tgid
};

}  // namespace

std::size_t complete_exited_threads(const Snapshot& before, const Snapshot& after,
                                    ExitedThreads& exited) {
  for (const Snapshot* snapshot : {&after, &before}) resolve_start_times(*snapshot, exited);
  // The last name is used, because a process may have run another program since the window opened.
  for (const Snapshot* from : {&after, &std::as_const(exited.rows), &before})
    fill_process_names(*from, exited);
  const bool lacks_cgroups = exited.rows.threads().find(kStartErrorTicks) != nullptr;
  const std::size_t inherited =
      lacks_cgroups ? CgroupResolver(before, after, exited).complete_all() : 0;
  use_threads_as_processes(exited);
  return inherited;
}

}  // namespace ctprof
