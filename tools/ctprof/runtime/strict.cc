#include "tools/ctprof/runtime/strict.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/text.hpp"
#include "core/render/loss_text.hpp"
#include "core/window/losses.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Limit for the message. The notes list all of them.
constexpr std::size_t kMaxListed = 4;

std::string with_other_count(const std::string& first, std::size_t all, std::string_view noun) {
  return all == 1 ? first : first + " and " + format_count(all - 1, "other " + std::string(noun));
}

bool is_identity(const Column& column) { return column.def().family == "identity"; }

}  // namespace

void Shortfall::add(std::string sentence) {
  if (is_enabled() && std::ranges::find(missing_, sentence) == missing_.end())
    missing_.push_back(std::move(sentence));
}

void Shortfall::add(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) add(refusal.subject + ": " + refusal.reason);
}

void Shortfall::add(const Snapshot& snapshot) {
  if (!is_enabled()) return;
  for (const SourceCost& cost : snapshot.meta.sources)
    if (!cost.failed.empty())
      add(cost.plugin + ": source '" + cost.source + "' failed: " + cost.failed);
  add_metrics(snapshot);
  if (selects_metrics_)
    for (const Table& table : snapshot.tables) add_denied(table);
  if (snapshot.window) add_lost_threads(*snapshot.window);
}

// Adds metrics without a source: all of them if the user named metrics, otherwise those that need
// more privileges.
void Shortfall::add_metrics(const Snapshot& snapshot) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const Provenance& why = column.provenance;
      const bool counts = why.gap == Gap::Denied || selects_metrics_;
      if (why.plugin.empty() && counts && !is_identity(column))
        by_reason[why.reason].push_back(column.def().name);
    }
  for (const auto& [reason, names] : by_reason)
    add(with_other_count(names.front(), names.size(), "metric") + ": " + reason);
}

// Adds metrics that the user named and that have denied cells.
void Shortfall::add_denied(const Table& table) {
  for (const Column& column : table.columns) {
    const auto denied = std::ranges::count(column.gaps(), static_cast<ctprof_gap>(Gap::Denied));
    if (denied > 0 && !column.provenance.plugin.empty() && !is_identity(column))
      add(column.def().name + ": denied in " + group_digits(static_cast<std::uint64_t>(denied)) +
          " of " + format_count(table.rows, "row"));
  }
}

void Shortfall::add_lost_threads(const Window& window) {
  for (const Loss& loss : find_exit_losses(get_exit_counts(window)))
    if (is_data_missing(loss)) add(describe_loss(loss));
}

void Shortfall::add(const RecordedWindow& recorded) {
  for (const RecorderResult& recorder : recorded.recorders) {
    if (!recorder.failure.empty()) add(recorder.plugin + ": it failed: " + recorder.failure);
    if (const std::uint64_t lost = recorder.lost + recorder.missed + recorder.dropped_for_memory;
        lost > 0)
      add(recorder.plugin + ": " + format_count(lost, "record") + " lost");
  }
}

int Shortfall::report(int status) const {
  if (missing_.empty()) return status;
  const std::size_t listed = std::min(kMaxListed, missing_.size());
  std::string sentence = "some requested data is missing (--strict): " +
                         join_texts(std::span(missing_).first(listed), "; ");
  if (missing_.size() > listed)
    sentence += "; and " + std::to_string(missing_.size() - listed) + " more";
  fail(sentence);
  return status == kSuccess ? kDataMissing : status;
}

}  // namespace ctprof::cli
