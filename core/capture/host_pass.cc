#include "core/capture/host_pass.hpp"
#include "core/registry/identity.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/workers.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/capture/meta.hpp"
#include "core/capture/thread_pass.hpp"
#include "core/capture/unseen_threads.hpp"

namespace ctprof {
namespace {

// Number of rows of a cgroup table that a worker takes in one step.
constexpr std::size_t kRowsPerRun = 64;

std::size_t runs_of_table(const Table& table) {
  return (table.rows + kRowsPerRun - 1) / kRowsPerRun;
}

std::uint32_t rows_of_run(const Table& table, std::size_t run) {
  return static_cast<std::uint32_t>(std::min(kRowsPerRun, table.rows - run * kRowsPerRun));
}

// Records the time spans within which threads, and all rows, were read. REQUIRES: meta.sources is
// complete.
void record_skew(const std::optional<Span>& threads, Meta& meta) {
  if (!threads) return;
  Span all = *threads;
  for (const SourceCost& cost : meta.sources) {
    if (cost.wall_ns == 0) continue;
    all.first = std::min(all.first, cost.start_ns);
    all.last = std::max(all.last, cost.start_ns + cost.wall_ns);
  }
  meta.thread_skew_ns = threads->last - threads->first;
  meta.skew_ns = all.last - all.first;
}

}  // namespace

HostPass::HostPass(const ProbedHost& probed, const Roots& roots, const Plan& plan,
                   const CaptureOptions& options)
    : probed_(probed),
      roots_(roots),
      plan_(plan),
      options_(options),
      workers_(options.jobs > 0 ? options.jobs : count_spare_workers()) {}

Result<std::variant<Snapshot, FailedLister>> HostPass::run() {
  const std::uint64_t cpu_before = cpu_time_ns();
  snapshot_.meta = begin_meta(roots_, options_.records_hostname);
  open_sources();
  // The host's CPU time is compared with that of its threads, so nothing slow may run in between.
  add_host_row(snapshot_);
  run_stage(CTPROF_STAGE_HOST);
  // Listed after the pass has begun, so that a process that starts meanwhile has a later start
  // time.
  CTPROF_TRY_VALUE(
      auto pids, options_.cgroup.empty()
                     ? Result<std::vector<std::uint64_t>>(options_.pids)
                     : list_processes_below(roots_.proc_fd.get(), options_.cgroup, options_.pids));
  ThreadPass threads{
      roots_,   snapshot_, std::move(pids), workers_, snapshot_.meta.start.boottime_ns,
      sources_, blocking_};
  CTPROF_TRY_VALUE(const auto failed_lister, threads.run());
  if (failed_lister) return FailedLister{&failed_lister->source(), failed_lister->finish()};
  std::vector<SourceCost> reserve_costs =
      fill_unseen_threads(plan_, probed_, snapshot_, snapshot_.meta.start.boottime_ns);
  add_cgroup_rows(snapshot_, all_cgroups());
  run_stage(CTPROF_STAGE_CGROUP);
  read_plugin_entities();
  finish(cpu_before, std::move(reserve_costs));
  record_skew(threads.read_span, snapshot_.meta);
  return std::move(snapshot_);
}

void HostPass::open_sources() {
  add_identity_columns(snapshot_.threads());
  for (const PlannedSource& planned : plan_.sources)
    sources_.emplace_back(planned, snapshot_.table(planned.source->entity), *snapshot_.pools,
                          probed_.host_for(*planned.plugin), workers_,
                          snapshot_.meta.start.boottime_ns);
}

// Returns all cgroups; an empty list if no source reads them or if the capture has a filter.
CgroupList HostPass::all_cgroups() {
  const bool are_read = std::ranges::any_of(
      sources_, [](const SourceRun& source) { return source.stage() == CTPROF_STAGE_CGROUP; });
  if (!are_read || !options_.all_cgroups || !options_.pids.empty() || !options_.cgroup.empty())
    return {};
  CgroupList list = list_cgroups(roots_);
  if (!list.is_complete && !list.entries.empty())
    snapshot_.meta.notes.push_back("there are too many cgroups: only the first " +
                                   std::to_string(list.entries.size()) +
                                   " were read, and cgroups without threads may be missing");
  return list;
}

void HostPass::run_stage(ctprof_stage stage) {
  Table& table = snapshot_.table(entity_of_stage(stage));
  for (Column& column : table.columns)
    if (column.rows() != table.rows) column.resize(table.rows, Gap::Untouched);
  for (SourceRun& source : sources_)
    if (source.stage() == stage) collect_all_rows(source, table);
}

void HostPass::collect_all_rows(SourceRun& source, const Table& table) {
  share_work(workers_, runs_of_table(table), [&](unsigned worker, std::size_t run) {
    source.collect(worker, run * kRowsPerRun, rows_of_run(table, run), {});
  });
}

// Lists the rows of the entities of plugins, then fills their other columns. The plan has the
// sources in this order.
void HostPass::read_plugin_entities() {
  for (SourceRun& source : sources_)
    if (source.stage() == CTPROF_STAGE_ENTITY_LIST) source.list_entity();
  for (SourceRun& source : sources_)
    if (source.stage() == CTPROF_STAGE_ENTITY)
      collect_all_rows(source, snapshot_.table(source.source().entity));
}

void HostPass::finish(std::uint64_t cpu_before, std::vector<SourceCost> reserve_costs) {
  for (const UnfilledMetric& unfilled : plan_.unfilled_metrics) {
    Column& column = snapshot_.table(unfilled.metric->entity).add(unfilled.metric, unfilled.gap);
    column.provenance = {{}, {}, unfilled.gap, unfilled.reason};
  }
  note_obtainable_columns(snapshot_);
  snapshot_.meta.takeovers = list_takeovers(probed_, plan_);
  summarise(sources_, snapshot_);
  std::ranges::move(blocking_.messages(), std::back_inserter(snapshot_.meta.notes));
  std::ranges::move(reserve_costs, std::back_inserter(snapshot_.meta.sources));
  if (const Column* born_at = snapshot_.threads().find(kStartedAt))
    snapshot_.started_at.assign(born_at->u64().begin(), born_at->u64().end());
  for (Table& table : snapshot_.tables)
    std::erase_if(table.columns, [](const Column& column) { return column.def().is_hidden; });
  snapshot_.derived = probed_.registry().derived_metrics_for(options_.record.recorders);
  snapshot_.meta.end = now();
  snapshot_.meta.cpu_time_ns = cpu_time_ns() - cpu_before;
}

}  // namespace ctprof
