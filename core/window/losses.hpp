// Data that a run lacks, and the reason. What counts as a loss is decided once: text, JSON, pages
// and
// --strict report these values (render/loss_text.hpp describes them).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/snapshot/window.hpp"

namespace ctprof {

// JSON contains the kinds by name.
enum class LossKind : std::uint8_t {
  ExitsNotRecorded,     // no source reported exited threads; `threads` of them have no data
  DroppedExits,         // exited threads whose last values a full buffer dropped
  UnseenExits,          // exited threads without any data
  MergedExits,          // exited threads that are in the row of another thread
  Denied,               // missing privileges: exited threads, `metrics`, times of `threads`
  ThreadsNotInOpening,  // threads that were not read when the window opened
  TimesInProgress,      // threads that ran or waited when the window opened or closed
  MetricsNotInOpening,  // metrics, by name, that were not read when the window opened
  UnreadRows,           // rows that were listed, but exited before they could be read
};

struct Loss {
  LossKind kind = LossKind::ExitsNotRecorded;
  std::uint64_t threads = 0;  // of UnreadRows: rows
  std::uint64_t metrics = 0;
  std::vector<std::string> names{};  // of metrics
};

// The exited threads without a row of their own, as counted in Window, and whether exits were
// recorded.
struct ExitCounts {
  std::uint64_t lost = 0, unseen = 0, merged = 0;
  bool are_recorded = false;
};
ExitCounts get_exit_counts(const Window& window);

// Returns the losses of exited threads.
std::vector<Loss> find_exit_losses(const ExitCounts& exits);

// Returns whether data is missing. A merged thread does not count: only its own row is
// missing.
inline bool is_data_missing(const Loss& loss) { return loss.kind != LossKind::MergedExits; }

}  // namespace ctprof
