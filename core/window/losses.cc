#include "core/window/losses.hpp"

namespace ctprof {

ExitCounts get_exit_counts(const Window& window) {
  return {window.exited_lost, window.exited_unknown, window.exited_merged, window.reports_exits};
}

std::vector<Loss> find_exit_losses(const ExitCounts& exits) {
  std::vector<Loss> losses;
  if (!exits.are_recorded) losses.push_back({LossKind::ExitsNotRecorded, exits.unseen});
  if (exits.lost > 0) losses.push_back({LossKind::DroppedExits, exits.lost});
  if (exits.are_recorded && exits.unseen > 0)
    losses.push_back({LossKind::UnseenExits, exits.unseen});
  if (exits.merged > 0) losses.push_back({LossKind::MergedExits, exits.merged});
  return losses;
}

}  // namespace ctprof
