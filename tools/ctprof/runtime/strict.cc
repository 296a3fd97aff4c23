#include "tools/ctprof/runtime/strict.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/text.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Limit for the message. The notes list all of them.
constexpr std::size_t kMostTold = 4;

std::string with_others(const std::string& first, std::size_t all, std::string_view noun) {
  return all == 1 ? first : first + " and " + count(all - 1, "other " + std::string(noun));
}

bool is_identity(const Column& column) { return column.def().family == "identity"; }

}  // namespace

void Shortfall::add(std::string what) {
  if (is_wanted() && std::ranges::find(missing_, what) == missing_.end())
    missing_.push_back(std::move(what));
}

void Shortfall::add(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) add(refusal.what + ": " + refusal.reason);
}

void Shortfall::add(const Snapshot& snapshot) {
  if (!is_wanted()) return;
  for (const SourceCost& cost : snapshot.meta.sources)
    if (!cost.failed.empty())
      add(cost.plugin + ": source '" + cost.source + "' failed: " + cost.failed);
  add_metrics(snapshot);
  if (options_->metrics)
    for (const Table& table : snapshot.tables) add_denied(table);
  if (snapshot.window) add_ends(*snapshot.window);
}

// Adds metrics without a source: all of them if the user named metrics, otherwise those that need
// more privileges.
void Shortfall::add_metrics(const Snapshot& snapshot) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const Provenance& why = column.provenance;
      const bool counts = why.gap == Gap::Denied || options_->metrics;
      if (why.plugin.empty() && counts && !is_identity(column))
        by_reason[why.reason].push_back(column.def().name);
    }
  for (const auto& [reason, names] : by_reason)
    add(with_others(names.front(), names.size(), "metric") + ": " + reason);
}

// Adds metrics that the user named and that have denied cells.
void Shortfall::add_denied(const Table& table) {
  for (const Column& column : table.columns) {
    const auto denied = std::ranges::count(column.gaps(), static_cast<ctprof_gap>(Gap::Denied));
    if (denied > 0 && !column.provenance.plugin.empty() && !is_identity(column))
      add(column.def().name + ": denied in " + with_separators(static_cast<std::uint64_t>(denied)) +
          " of " + count(table.rows, "row"));
  }
}

void Shortfall::add_ends(const Window& window) {
  if (!window.sees_ends) return add("exited threads are not recorded");
  if (const std::uint64_t lost = window.ended_lost + window.ended_unseen; lost > 0)
    add("no data about " + count(lost, "thread") + " that exited in a window");
}

void Shortfall::add(const RecordedWindow& recorded) {
  for (const Recorded& one : recorded.recorders) {
    if (!one.failed.empty()) add(one.plugin + ": it failed: " + one.failed);
    if (const std::uint64_t lost = one.lost + one.unseen + one.no_room; lost > 0)
      add(one.plugin + ": " + count(lost, "record") + " lost");
  }
}

int Shortfall::tell(int status) const {
  if (missing_.empty()) return status;
  const std::size_t told = std::min(kMostTold, missing_.size());
  std::string sentence =
      "some requested data is missing (--strict): " + joined(std::span(missing_).first(told), "; ");
  if (missing_.size() > told)
    sentence += "; and " + std::to_string(missing_.size() - told) + " more";
  fail(sentence);
  return status == kFine ? kPartial : status;
}

}  // namespace ctprof::cli
