#include "core/compare/figures/run_losses.hpp"

namespace ctprof {
namespace {

// Without permission to observe exits, BPF programs that read times in progress do not run either.
bool are_reads_denied(const WindowFacts& window) {
  return !window.records_exits && window.denied_metrics > 0;
}

void append_window_losses(const WindowFacts& window, std::vector<Loss>& losses) {
  const WindowRows& rows = window.rows;
  if (are_reads_denied(window))
    losses.push_back({LossKind::Denied, rows.in_progress, window.denied_metrics});
  if (rows.not_in_opening > 0)
    losses.push_back({LossKind::ThreadsNotInOpening, rows.not_in_opening});
  if (rows.in_progress > 0 && !are_reads_denied(window))
    losses.push_back({LossKind::TimesInProgress, rows.in_progress});
  if (const auto& names = rows.metrics_not_in_opening; !names.empty())
    losses.push_back({LossKind::MetricsNotInOpening, 0, names.size(), names});
}

}  // namespace

std::vector<Loss> find_losses(const RunFacts& run) {
  std::vector<Loss> losses;
  if (const auto& window = run.window) {
    losses =
        find_exit_losses({window->lost, window->unseen, window->merged, window->records_exits});
    append_window_losses(*window, losses);
  }
  if (run.meta.rows_absent > 0) losses.push_back({LossKind::UnreadRows, run.meta.rows_absent});
  return losses;
}

}  // namespace ctprof
