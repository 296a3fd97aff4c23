#include "core/window/blocked_time.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "core/window/roles.hpp"

namespace ctprof {

MetricDef blocked_time_metric() {
  MetricDef def;
  def.name = "blocked_time_ns";
  def.newtype = "MonotonicNs";
  def.rule = "SumNs";
  def.reduction = "sum";
  def.unit = "ns";
  def.family = "cumulative";
  def.section = "primary";
  def.applies_to = "all";
  def.source = "computed for each thread of a window";
  def.file_path = "none";
  def.file_absent = "omit";
  def.description =
      "Time in which the thread neither ran nor waited for a CPU: it slept, or waited for a lock, "
      "a disk, a message.";
  def.caveat =
      "Wall time between the two readings of the thread, less the time that it ran and waited. For "
      "a thread that started in the window it can be off by a clock tick, unless a BPF program "
      "reports its start.";
  def.plugin = "core";
  def.headline = Headline{.label = "%blocked",
                          .order = 30,
                          .shown = CTPROF_SHOWN_PERCENT,
                          .orders_by_change = true,
                          .floor = 1e7};
  def.role = "blocked-time";
  return def;
}

namespace {

DerivedDef blocked_share_metric(const std::string& run, const std::string& wait,
                                const std::string& blocked) {
  DerivedDef def;
  def.name = "blocked_share";
  def.expression = blocked + " / (" + run + " + " + wait + " + " + blocked + ")";
  def.unit = "ratio";
  def.family = "gauge";
  def.section = "derived";
  def.applies_to = "all";
  def.description =
      "Share of the time of the threads in the window during which they were blocked.";
  def.plugin = "core";
  return def;
}

// Returns the wall time of threads less run and wait time. REQUIRES: the columns are differences.
Column compute_blocked_times(const Column& run, const Column& wait,
                             std::span<const SeenTimes> seen) {
  Column blocked(blocked_time_metric(), run.rows(), Gap::NoBase);
  blocked.provenance = wait.provenance;
  for (std::size_t row = 0; row < run.rows(); ++row) {
    if (!run.has_value(row) || !wait.has_value(row)) {
      blocked.gaps()[row] =
          static_cast<ctprof_gap>(run.has_value(row) ? wait.gap(row) : run.gap(row));
      continue;
    }
    std::uint64_t blocked_ns = seen[row].last - seen[row].first;
    blocked_ns -= std::min(blocked_ns, run.u64()[row]);
    blocked_ns -= std::min(blocked_ns, wait.u64()[row]);
    blocked.u64()[row] = blocked_ns;
    blocked.gaps()[row] = CTPROF_VALUE;
  }
  return blocked;
}

}  // namespace

void add_blocked_time(Snapshot& snapshot) {
  std::deque<Column>& columns = snapshot.threads().columns;
  const Column *run = find_role(columns, "run-time"), *wait = find_role(columns, "wait-time");
  const auto is_time = [](const Column* column) {
    return column && column->def().storage == Storage::U64;
  };
  const MetricDef def = blocked_time_metric();
  if (!is_time(run) || !is_time(wait) || snapshot.window->seen_times.empty() ||
      find_role(columns, def.role) || snapshot.threads().find(def.name))
    return;
  snapshot.derived.push_back(blocked_share_metric(run->def().name, wait->def().name, def.name));
  const auto wait_column = std::ranges::find(
      columns, wait->def().name, [](const Column& column) { return column.def().name; });
  columns.insert(wait_column + 1, compute_blocked_times(*run, *wait, snapshot.window->seen_times));
}

}  // namespace ctprof
