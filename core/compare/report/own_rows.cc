#include "core/compare/report/own_rows.hpp"

#include <unordered_set>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {

bool is_flag_set(const Column* flag, std::size_t row) {
  return flag && flag->has_value(row) && flag->bools()[row] != 0;
}

OwnRows::OwnRows(const Snapshot& snapshot)
    : tgids_(thread_column(snapshot, kTgid, Storage::U64)),
      parents_(thread_column(snapshot, kParent, Storage::U64)),
      descendants_(thread_column(snapshot, kDescendant, Storage::Bool)) {
  const auto& listed = snapshot.meta.own_threads;
  const std::unordered_set<std::uint64_t> own(listed.begin(), listed.end());
  const Column* tids = thread_column(snapshot, kTid, Storage::U64);
  for (std::size_t row = 0; tids && tgids_ && !own_ && row < snapshot.window->living; ++row)
    if (own.contains(tids->u64()[row])) own_ = tgids_->u64()[row];
}

bool OwnRows::contains(std::size_t row) const {
  if (!own_) return false;
  const bool is_child = parents_ && parents_->has_value(row) && parents_->u64()[row] == *own_;
  // Without BPF it is unknown whether an exited process belonged to the recorded command.
  const bool may_descend =
      descendants_ && (!descendants_->has_value(row) || is_flag_set(descendants_, row));
  return tgids_->u64()[row] == *own_ || (is_child && !may_descend);
}

}  // namespace ctprof
