#include "core/capture/capture.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/capture/descriptors.hpp"
#include "core/capture/host_context.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/capture/meta.hpp"
#include "core/capture/other_tables.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/capture/summaries.hpp"
#include "core/capture/takeovers.hpp"
#include "core/capture/thread_pass.hpp"
#include "core/capture/workers.hpp"
#include "core/registry/process_state.hpp"

namespace ctprof {
namespace {

// Rows of a process or cgroup table that a worker takes at a time.
constexpr std::size_t kRun = 64;

constexpr std::array kEntityOfStage{Entity::Thread, Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host};

// The times within which threads, and all rows, were read. REQUIRES: the sources have been told of.
void tell_skew(const std::optional<Span>& threads, Meta& meta) {
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

// One capture under way.
class Capture {
 public:
  Capture(const Registry& registry, const Roots& roots, const Plan& plan, const CaptureOptions& options)
      : registry_(registry),
        roots_(roots),
        plan_(plan),
        options_(options),
        workers_(options.jobs > 0 ? options.jobs : spare_workers()) {}

  // Check `failed_lister` before anything else.
  Result<Snapshot> run() {
    const std::uint64_t cpu_before = cpu_time_ns();
    snapshot_.meta = begin_meta(roots_, options_.hostname);
    snapshot_.objects["host"] = host_context(roots_);
    open_sources();
    ThreadPass pass{roots_, snapshot_, options_.pids, workers_, snapshot_.meta.start.monotonic_ns, sources_};
    if (auto read = pass.run(); !read) return read.error();
    if (pass.failed_lister) {
      failed_lister_ = {&pass.failed_lister->source(), pass.failed_lister->finish()};
      return std::move(snapshot_);
    }
    add_process_rows(snapshot_);
    add_cgroup_rows(snapshot_);
    add_host_row(snapshot_);
    for (const ctprof_stage stage : {CTPROF_STAGE_PROCESS, CTPROF_STAGE_CGROUP, CTPROF_STAGE_HOST}) run_stage(stage);
    finish(cpu_before);
    tell_skew(pass.read, snapshot_.meta);
    return std::move(snapshot_);
  }

  // The source that was to list the threads and gave up, so that the snapshot is void; null, as a rule.
  struct FailedLister {
    const SourceTable* source = nullptr;
    SourceCost cost;
  };
  const FailedLister& failed_lister() const { return failed_lister_; }

 private:
  void open_sources() {
    add_identity_columns(snapshot_.threads());
    const ctprof_host host = roots_.host();
    for (const PlannedSource& planned : plan_.sources)
      sources_.emplace_back(planned, snapshot_.table(kEntityOfStage[planned.source->table.stage]), *snapshot_.pools, host,
                            workers_, snapshot_.meta.start.monotonic_ns);
  }

  void run_stage(ctprof_stage stage) {
    const Entity entity = kEntityOfStage[stage];
    Table& table = snapshot_.table(entity);
    for (Column& column : table.columns)
      if (column.rows() != table.rows) column.resize(table.rows, Gap::Untouched);
    for (SourceRun& source : sources_)
      if (source.stage() == stage)
        share(workers_, (table.rows + kRun - 1) / kRun, [&](unsigned worker, std::size_t run) {
          const std::size_t first = run * kRun;
          source.collect(worker, first, static_cast<std::uint32_t>(std::min(kRun, table.rows - first)), {});
        });
  }

  void finish(std::uint64_t cpu_before) {
    for (const Unfilled& unfilled : plan_.unfilled) {
      Column& column = snapshot_.table(unfilled.field->def.entity).add(unfilled.field->def, unfilled.gap);
      column.provenance = {{}, {}, unfilled.gap, unfilled.reason};
    }
    note_within_reach(snapshot_);
    snapshot_.meta.takeovers = takeovers(registry_, plan_);
    summarise(sources_, snapshot_);
    for (Table& table : snapshot_.tables) std::erase_if(table.columns, [](const Column& column) { return column.def().hidden; });
    snapshot_.derived = registry_.derived();
    snapshot_.meta.end = now();
    snapshot_.meta.cpu_time_ns = cpu_time_ns() - cpu_before;
  }

  const Registry& registry_;
  const Roots& roots_;
  const Plan& plan_;
  const CaptureOptions& options_;
  unsigned workers_;
  Snapshot snapshot_;
  std::deque<SourceRun> sources_;
  FailedLister failed_lister_;
};

// Whether each process is there, and is a process and not one thread of another.
Result<void> check_pids(const Roots& roots, const std::vector<std::uint64_t>& pids) {
  sdk::TextFile file;
  for (const std::uint64_t pid : pids) {
    const std::string number = std::to_string(pid);
    const auto status = file.read(roots.proc_fd.get(), (number + "/status").c_str());
    if (!status) return errno_error("looking for process", number, file.last_errno());
    const auto tgid = sdk::value_of(status.value, "Tgid");
    if (tgid && tgid.value != number)
      return error("looking for process", number, "it is a thread of process " + std::string(tgid.value));
  }
  return {};
}

}  // namespace

Result<Snapshot> capture(Registry& registry, const CaptureOptions& options, std::vector<Refusal>* refused) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return roots.error();
  if (auto there = check_pids(*roots, options.pids); !there) return there.error();
  const KeptProcessState kept;
  const std::vector<Refusal> thrown = registry.probe(roots->host());
  if (auto enough = check_descriptors(kDescriptorsAfterProbing); !enough) return enough.error();
  Lost lost;
  std::vector<SourceCost> costs;
  for (;;) {
    const auto plan = make_plan(registry, options.metrics, lost);
    if (!plan) return plan.error();
    if (refused) *refused = plan->refused;
    if (refused) refused->insert(refused->begin(), thrown.begin(), thrown.end());
    Capture capture(registry, *roots, *plan, options);
    auto snapshot = capture.run();
    if (const auto& [source, cost] = capture.failed_lister(); source) {
      lost[source] = cost.failed;
      costs.push_back(cost);
      continue;
    }
    if (snapshot) snapshot->meta.sources.insert(snapshot->meta.sources.begin(), costs.begin(), costs.end());
    return snapshot;
  }
}

Result<Snapshot> capture_pid(Registry& registry, std::uint64_t pid, CaptureOptions options) {
  options.pids = {pid};
  return capture(registry, options);
}

Result<Written> capture_to(Registry& registry, const std::string& path, const CaptureOptions& options) {
  const auto place = check_output(path);
  if (!place) return place.error();
  const auto snapshot = capture(registry, options);
  if (!snapshot) return snapshot.error();
  return write_file(*snapshot, registry.vocabulary(), *place);
}

CellTally tally(const Snapshot& snapshot) {
  CellTally tally;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      for (const ctprof_gap gap : column.gaps()) gap == CTPROF_VALUE ? ++tally.values : ++tally.gaps[gap];
  return tally;
}

}  // namespace ctprof
