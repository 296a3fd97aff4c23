#include "core/window/complete_ended.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/window/thread_names.hpp"

namespace ctprof {
namespace {

// Copies missing cells of an exited thread from a row of another snapshot.
void complete(Ended& ended, std::uint32_t row, const Snapshot& from, std::uint32_t from_row,
              std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    Column* cells = ended.rows.threads().find(key);
    const Column* known = from.threads().find(key);
    if (cells && known && !cells->has_value(row))
      copy_cell(*cells, row, *ended.rows.pools, *known, from_row, *from.pools);
  }
}

// For sources with approximate start times: finds the listed thread with the same tid and the
// nearest start time within the tolerance. Copies its start time and other missing cells.
void settle_starts(const Snapshot& listed, Ended& ended) {
  Column* within = ended.rows.threads().find(kStartWithin);
  if (!within) return;
  const std::vector<ThreadName> names = names_of(listed.threads());
  std::unordered_multimap<std::uint64_t, std::uint32_t> rows_of;
  for (std::uint32_t row = 0; row < names.size(); ++row) rows_of.emplace(names[row].tid, row);
  const std::vector<ThreadName> rough = names_of(ended.rows.threads());
  for (std::uint32_t row = 0; row < rough.size(); ++row) {
    std::uint64_t nearest = within->has_value(row) ? within->u64()[row] : 0;
    const auto [first, last] = rows_of.equal_range(rough[row].tid);
    for (auto it = first; it != last; ++it) {
      const std::uint64_t start = names[it->second].start;
      const std::uint64_t off =
          std::max(start, rough[row].start) - std::min(start, rough[row].start);
      if (off > nearest) continue;
      nearest = within->u64()[row] = off;
      ended.rows.threads().find(kStartTime)->u64()[row] = start;
      complete(ended, row, listed, it->second, {kTgid, kPcomm, kCgroup});
    }
  }
}

// Fills in missing process names from the leaders of the processes.
void name_processes(const Snapshot& from, Ended& ended) {
  const Column* pcomm = ended.rows.threads().find(kPcomm);
  if (!pcomm || std::ranges::count(pcomm->gaps(), CTPROF_VALUE) == std::ssize(pcomm->gaps()))
    return;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  const std::vector<ThreadName> names = names_of(from.threads());
  for (std::uint32_t row = 0; row < names.size(); ++row)
    if (names[row].tid == names[row].tgid) row_of.emplace(names[row].tgid, row);
  const std::vector<ThreadName> lacking = names_of(ended.rows.threads());
  for (std::uint32_t row = 0; row < lacking.size(); ++row)
    if (const auto it = row_of.find(lacking[row].tgid); it != row_of.end())
      complete(ended, row, from, it->second, {kPcomm});
}

// Treats a thread without a known process as a process of its own, with the thread's name.
void stand_alone(Ended& ended) {
  Table& threads = ended.rows.threads();
  Column *tgids = threads.find(kTgid), *pcomms = threads.find(kPcomm);
  const Column *tids = threads.find(kTid), *comms = threads.find(kComm);
  if (!tgids || !pcomms || !tids || !comms) return;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (tgids->has_value(row)) continue;
    tgids->take(row, *tids, row);
    pcomms->take(row, *comms, row);
  }
}

// A row of a thread in one of the snapshots or in the exited threads.
struct RowOf {
  const Snapshot* rows;
  std::uint32_t row;
};

// Finds the cgroups of threads through their processes and the ancestors of these.
class Cgroups {
 public:
  Cgroups(const Snapshot& before, const Snapshot& after, Ended& ended)
      : ended_(&ended), names_(names_of(ended.rows.threads())) {
    for (const Snapshot* listed : {&after, &before}) {
      const auto names = names_of(listed->threads());
      for (std::uint32_t row = 0; row < names.size(); ++row)
        if (names[row].is_leader()) listed_.try_emplace(names[row].tgid, RowOf{listed, row});
    }
    for (std::uint32_t row = 0; row < names_.size(); ++row)
      if (names_[row].is_leader()) ended_leaders_.try_emplace(names_[row].tgid, row);
  }

  // Returns the number of threads that got the cgroup of an ancestor.
  std::size_t complete_all() {
    const Column* cgroups = ended_->rows.threads().find(kCgroup);
    std::size_t inherited = 0;
    for (std::uint32_t row = 0; cgroups && row < names_.size(); ++row) {
      if (cgroups->has_value(row)) continue;
      const auto own = listed_.find(names_[row].tgid);
      const bool of_process = !names_[row].is_leader() && own != listed_.end();
      const RowOf* from = of_process ? &own->second : ancestor(row);
      if (!from) continue;
      complete(*ended_, row, *from->rows, from->row, {kCgroup});
      inherited += !of_process && cgroups->has_value(row) ? 1 : 0;
    }
    return inherited;
  }

 private:
  // Limit of the depth of nested shells and programs; real hosts have fewer levels.
  static constexpr int kMostAncestors = 32;
  // Process 1 and kthreadd.
  static constexpr std::uint64_t kLastOfKernel = 2;

  // Returns the nearest listed ancestor, or null.
  const RowOf* ancestor(std::uint32_t row) const {
    const Column* parents = ended_->rows.threads().find_u64(kParent);
    for (int depth = 0; parents && depth < kMostAncestors; ++depth) {
      if (!parents->has_value(row) || parents->u64()[row] <= kLastOfKernel) return nullptr;
      const std::uint64_t parent = parents->u64()[row];
      if (const auto known = listed_.find(parent); known != listed_.end()) return &known->second;
      const auto ended = ended_leaders_.find(parent);
      if (ended == ended_leaders_.end()) return nullptr;
      row = ended->second;
    }
    return nullptr;
  }

  Ended* ended_;
  std::vector<ThreadName> names_;
  std::unordered_map<std::uint64_t, RowOf> listed_;                 // leaders, by tgid
  std::unordered_map<std::uint64_t, std::uint32_t> ended_leaders_;  // leaders, by tgid
};

}  // namespace

std::size_t complete_ended(const Snapshot& before, const Snapshot& after, Ended& ended) {
  for (const Snapshot* listed : {&after, &before}) settle_starts(*listed, ended);
  // The last name wins: a process may have run another program since the window opened.
  for (const Snapshot* from : {&after, &std::as_const(ended.rows), &before})
    name_processes(*from, ended);
  const bool lacks_cgroups = ended.rows.threads().find(kStartWithin) != nullptr;
  const std::size_t inherited = lacks_cgroups ? Cgroups(before, after, ended).complete_all() : 0;
  stand_alone(ended);
  return inherited;
}

}  // namespace ctprof
