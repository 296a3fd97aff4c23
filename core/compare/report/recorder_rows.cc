#include "core/compare/report/recorder_rows.hpp"

#include <unordered_set>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {

bool is_flag_set(const Column* flag, std::size_t row) {
  return flag && flag->has_value(row) && flag->bools()[row] != 0;
}

RecorderRows::RecorderRows(const Snapshot& snapshot)
    : tgids_(thread_column(snapshot, kTgid, Storage::U64)),
      parents_(thread_column(snapshot, kParent, Storage::U64)),
      descendants_(thread_column(snapshot, kDescendant, Storage::Bool)) {
  const auto& own_thread_ids = snapshot.meta.own_threads;
  const std::unordered_set<std::uint64_t> own_tids(own_thread_ids.begin(), own_thread_ids.end());
  const Column* tids = thread_column(snapshot, kTid, Storage::U64);
  for (std::size_t row = 0;
       tids && tgids_ && !recorder_tgid_ && row < snapshot.window->living_threads; ++row)
    if (own_tids.contains(tids->u64()[row])) recorder_tgid_ = tgids_->u64()[row];
}

bool RecorderRows::contains(std::size_t row) const {
  if (!recorder_tgid_) return false;
  const bool is_child =
      parents_ && parents_->has_value(row) && parents_->u64()[row] == *recorder_tgid_;
  // Without BPF it is unknown whether an exited process belonged to the recorded command.
  const bool may_descend =
      descendants_ && (!descendants_->has_value(row) || is_flag_set(descendants_, row));
  return tgids_->u64()[row] == *recorder_tgid_ || (is_child && !may_descend);
}

}  // namespace ctprof
