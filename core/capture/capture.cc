#include "core/capture/capture.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/clock.hpp"
#include "core/base/workers.hpp"
#include "core/capture/children.hpp"
#include "core/capture/descriptors.hpp"
#include "core/capture/host_pass.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/capture/recorded_losses.hpp"
#include "core/capture/recorded_stacks.hpp"
#include "core/capture/recorder_notes.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/process_state_guard.hpp"
#include "core/window/descendants.hpp"

namespace ctprof {
namespace {

// The kernel's buffer of exit records lasts 1/3 s at the highest rate of exits that was measured.
constexpr std::chrono::milliseconds kDrainInterval{20};

// Checks that each pid exists and is a process, not a thread of another process.
Result<void> check_pids(const Roots& roots, const std::vector<std::uint64_t>& pids) {
  sdk::TextFile file;
  for (const std::uint64_t pid : pids) {
    const std::string number = std::to_string(pid);
    const auto status = file.read(roots.proc_fd.get(), (number + "/status").c_str());
    if (!status && file.last_errno() == ENOENT)
      return error("looking for process", number, "there is no such process");
    if (!status) return errno_error("looking for process", number, file.last_errno());
    const auto tgid = sdk::value_of(status.value, "Tgid");
    if (tgid && tgid.value != number)
      return error("looking for process", number,
                   "it is a thread of process " + std::string(tgid.value));
  }
  return {};
}

bool skips_expensive_metrics(const CaptureOptions& options) {
  return options.level == Level::Fast && !options.metrics;
}

// Returns the names of the metrics to plan; nullopt: all.
std::optional<std::vector<std::string>> requested_metrics(const CaptureOptions& options,
                                                          const ProbedHost& probed) {
  if (!skips_expensive_metrics(options)) return options.metrics;
  std::vector<std::string> names;
  for (const ProbedMetric& field : probed.metrics())
    if (!field.def->costly && !field.def->is_hidden) names.push_back(field.def->name);
  return names;
}

ExpensiveRecords requested_expensive_records(const CaptureOptions& options) {
  const bool includes_all = options.level == Level::Full && !options.metrics;
  return {includes_all, options.metrics.value_or(std::vector<std::string>())};
}

bool is_skipped(const ProbedMetric& field) {
  return field.def->costly && !field.def->is_hidden && !field.def->is_mark &&
         std::ranges::find(field.offers, Gap::None, &ProbedOffer::refusal) != field.offers.end();
}

// Returns whether one of these recorders, named like its plugin or its source, offers the metric.
bool is_recorded_by(const ProbedMetric& field, const std::vector<std::string>& recorders) {
  return std::ranges::any_of(recorders, [&](const std::string& name) {
    return name == field.offers.front().plugin->name || name == field.offers.front().source->name;
  });
}

// Returns the expensive metrics that work here and that this capture skips, except marks
// (MetricDef::is_mark).
std::vector<std::string> skipped_metrics(const CaptureOptions& options, const ProbedHost& probed) {
  std::vector<std::string> names;
  if (!skips_expensive_metrics(options)) return names;
  for (const ProbedMetric& field : probed.metrics())
    if (is_skipped(field)) names.push_back(field.def->name);
  for (const ProbedMetric& field : probed.stack_metrics())
    if (is_skipped(field) && is_recorded_by(field, options.record.recorders))
      names.push_back(field.def->name);
  return names;
}

// Returns whether recorders work: while a window is open, or once with a snapshot.
bool uses_recorders(const CaptureOptions& options) {
  return !options.record.recorders.empty() && (options.is_window || options.record.sample_once);
}

RecorderSelection select_recorders(const CaptureOptions& options) {
  if (uses_recorders(options)) return RecorderSelection::All;
  return options.is_window ? RecorderSelection::ExitedThreads : RecorderSelection::None;
}

std::set<std::uint64_t> as_set(const std::vector<std::uint64_t>& pids) {
  return {pids.begin(), pids.end()};
}

// Returns the process that becomes the parent of orphaned descendants; 0: unknown.
std::uint64_t subreaper_pid() {
  int is_subreaper = 0;
  const bool known = ::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper, 0, 0, 0) == 0;
  return known && is_subreaper != 0 ? static_cast<std::uint64_t>(::getpid()) : 0;
}

}  // namespace

Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refusals, EarlyOpener opener) {
  CTPROF_TRY_VALUE(auto session, Session::open(registry, options, std::move(opener)));
  CTPROF_TRY(session.begin());
  if (refusals) *refusals = session.refusals();
  return session.end();
}

Result<Snapshot> capture_pid(const Registry& registry, std::uint64_t pid, CaptureOptions options) {
  options.pids = {pid};
  return capture(registry, options);
}

CellTally tally(const Snapshot& snapshot) {
  GapCounts counts{};
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) count_gaps(column.gaps(), counts);
  CellTally tally{.values = counts[CTPROF_VALUE], .gaps = counts};
  tally.gaps[CTPROF_VALUE] = 0;
  return tally;
}

EarlyOpener::EarlyOpener(const std::string& rootfs) {
  if (auto roots = open_roots(rootfs)) roots_ = std::make_unique<const Roots>(std::move(*roots));
}

void EarlyOpener::open(const Plugin& plugin) {
  if (roots_ && plugin.open) contexts_.try_emplace(plugin.path, plugin, roots_->host());
}

Result<Session> Session::open(const Registry& registry, CaptureOptions options,
                              EarlyOpener opener) {
  if (!opener.roots_) {
    CTPROF_TRY_VALUE(auto roots, open_roots(options.rootfs));
    opener.roots_ = std::make_unique<const Roots>(std::move(roots));
  }
  CTPROF_TRY(check_pids(*opener.roots_, options.pids));
  if (!options.cgroup.empty()) {
    CTPROF_TRY_VALUE(const auto cgroup, find_cgroup(*opener.roots_, options.cgroup));
    if (options.cgroup != "/") options.record.cgroup = cgroup;
  }
  Session session(registry, std::move(options), std::move(opener));
  CTPROF_TRY(check_descriptors(kDescriptorsAfterProbing));
  return session;
}

Session::Session(const Registry& registry, CaptureOptions options, EarlyOpener opener)
    : options_(std::move(options)),
      roots_(std::move(opener.roots_)),
      probed_(registry, roots_->host(), select_recorders(options_), std::move(opener.contexts_)) {}

Result<void> Session::begin() {
  if (options_.is_window) host_state_ = read_host_state(*roots_);
  CTPROF_TRY(start_recorders());
  CTPROF_TRY_VALUE(auto snapshot, read_host(options_.is_window));
  last_snapshot_ = std::move(snapshot);
  if (records_ && options_.is_window) records_->open_sums();
  if (exit_tracker_) exit_tracker_->begin_window();
  if (records_ && !options_.is_window) add_snapshot_stacks();
  return {};
}

// Adds the stacks of a snapshot. Its recorders worked while the threads were read.
void Session::add_snapshot_stacks() {
  const ProcessStateGuard kept;
  collect_records(true, last_snapshot_->meta.start.boottime_ns, last_snapshot_->meta);
  put_stacks(recorded_, roots_->proc_fd.get(), *last_snapshot_, {});
  records_.reset();
}

bool Session::is_limited_to_cgroup() const {
  return !options_.cgroup.empty() && options_.cgroup != "/";
}

// Creating ring buffers is slow. So recorders start before anything is planned, and the records of
// that time are dropped before the window opens.
Result<void> Session::start_recorders() {
  if (!uses_recorders(options_)) return {};
  const ProcessStateGuard kept;
  CTPROF_TRY_VALUE(const auto planned, plan_recorders(probed_, options_.record.recorders,
                                                      requested_expensive_records(options_)));
  const int proc = roots_->proc_fd.get();
  records_ = std::make_unique<ActiveRecorders>(
      planned, probed_, options_.record,
      RequestedProcesses(options_.pids, options_.cgroup, proc, options_.record.inherits), proc);
  return records_->start();
}

// Descendants of a command are marked in the rows instead of being followed.
bool Session::follows_children() const {
  return options_.is_window && options_.record.inherits && !options_.pids.empty() &&
         options_.command == 0;
}

// Adds forked processes to children_. Where no source reports forks, searches the parent ids of
// living processes.
void Session::find_children() {
  if (!follows_children()) return;
  std::vector<std::uint64_t> family = options_.pids;
  if (records_) children_.merge(as_set(records_->followed_processes()));
  children_.merge(as_set(exit_tracker_->forked_processes()));
  if (exit_tracker_->sees_forks()) return;
  family.insert(family.end(), children_.begin(), children_.end());
  const Meta& meta = last_snapshot_->meta;
  children_.merge(as_set(find_descendants(roots_->proc_fd.get(), family,
                                          meta.start.boottime_ns / ns_per_tick(meta.user_hz))));
}

// Removes exited children, because their ids may belong to other processes in the next window.
void Session::forget_exited_children(const Snapshot& window) {
  if (children_.empty()) return;
  const auto tgids = window.threads().find(kTgid)->u64();
  const std::set<std::uint64_t> living(tgids.begin(), tgids.end());
  std::erase_if(children_, [&](std::uint64_t child) { return !living.contains(child); });
}

// Reads the host. If this opens a window, starts watching for exited threads first.
Result<Snapshot> Session::read_host(bool is_opening) {
  const ProcessStateGuard kept;
  FailedSources failed_sources;
  std::vector<SourceCost> costs;
  const auto requested = requested_metrics(options_, probed_);
  CaptureOptions pass_options = options_;
  pass_options.pids.insert(pass_options.pids.end(), children_.begin(), children_.end());
  for (;;) {
    CTPROF_TRY_VALUE(const auto plan, make_plan(probed_, requested, failed_sources));
    refusals_ = probed_.failures();
    refusals_.insert(refusals_.end(), plan.refusals.begin(), plan.refusals.end());
    if (is_opening && !exit_tracker_) {
      exit_tracker_ = std::make_unique<ExitTracker>(plan, probed_, options_.pids, options_.cgroup,
                                                    options_.command, follows_children());
      exit_tracker_->start();
      if (records_) records_->discard();
    }
    std::optional<Result<std::variant<Snapshot, FailedLister>>> outcome;
    const std::uint64_t drain_tid =
        drain_during([&] { outcome = HostPass(probed_, *roots_, plan, pass_options).run(); });
    if (!*outcome) return outcome->error();
    if (auto* snapshot = std::get_if<Snapshot>(&**outcome)) {
      snapshot->meta.sources.insert(snapshot->meta.sources.begin(), costs.begin(), costs.end());
      snapshot->meta.uncaptured_metrics = skipped_metrics(options_, probed_);
      if (drain_tid != 0 && roots_->has_own_tids) snapshot->meta.own_threads.push_back(drain_tid);
      return std::move(*snapshot);
    }
    const auto& [source, cost] = std::get<FailedLister>(**outcome);
    failed_sources[source] = cost.failed;
    costs.push_back(cost);
  }
}

void Session::drain() {
  const ProcessStateGuard kept;
  if (!exit_tracker_) return;
  drain_sources();
  exit_tracker_->limit_rows();
}

void Session::drain_sources() {
  exit_tracker_->drain();
  if (records_) records_->drain();
}

std::uint64_t Session::drain_during(const std::function<void()>& work) {
  if (!exit_tracker_) return work(), 0;
  const ProcessStateGuard kept;
  return run_with_periodic_task(
      kDrainInterval, [this] { drain_sources(); }, work);
}

Result<Snapshot> Session::close_window(bool is_last) {
  drain();  // distinguishes earlier exits from exits while the host is read
  find_children();
  const Snapshot before = closing_snapshot(*std::exchange(last_snapshot_, std::nullopt));
  if (records_) records_->close_sums();
  auto after = read_host(false);
  if (after) forget_exited_children(*after);
  if (!after) return after.error();
  const ProcessStateGuard kept;
  is_last ? exit_tracker_->stop() : exit_tracker_->drain();
  collect_records(is_last, before.meta.start.boottime_ns, after->meta);
  ExitedThreads& exited = exit_tracker_->collect(before, after->meta.sources);
  if (options_.command != 0) mark_descendants(before, *after, exited);
  CTPROF_TRY_VALUE(auto window, make_consecutive_window(before, std::move(*after), exited,
                                                        "the window's start", "its end"));
  add_stacks(window, is_last);
  if (window.window->exited_merged > 0)
    window.meta.notes.push_back(std::to_string(window.window->exited_merged) +
                                " exited threads share rows with others of the same process, name "
                                "and cgroup, because too many threads exited");
  if (!exit_tracker_->failure_reason().empty())
    window.meta.notes.push_back("exited threads are not recorded: " +
                                exit_tracker_->failure_reason());
  const HostState state = read_host_state(*roots_);
  window.window->is_partial = !options_.pids.empty() || !options_.cgroup.empty();
  std::ranges::move(describe_changes(std::exchange(host_state_, state), state),
                    std::back_inserter(window.window->notes));
  return window;
}

void Session::collect_records(bool is_last, std::uint64_t opened_ns, Meta& meta) {
  if (!records_) return;
  records_->end_window();
  if (is_last) records_->stop();
  recorded_ = records_->take();
  if (options_.is_window && !is_last) records_->open_sums();
  for (RecorderResult& recorded : recorded_.recorders) {
    drop_losses_before(recorded, opened_ns, !has_closed_window_);
    if (!recorded.remark.empty()) meta.notes.push_back(recorded.remark);
    if (recorded.refused_tables > 0) meta.notes.push_back(describe_refused_tables(recorded));
    if (!recorded.unpackable_files.empty())
      meta.notes.push_back(describe_unpackable_files(recorded));
  }
  if (is_limited_to_cgroup() && options_.record.cgroup == 0)
    meta.notes.push_back(
        "recorders sample the whole host, because no mounted cgroup v2 hierarchy contains cgroup "
        "'" +
        options_.cgroup + "'; records of other cgroups are dropped");
}

// Puts the recorded stacks into the rows of their threads. Unless it is the last window, recorders
// continue meanwhile.
void Session::add_stacks(Snapshot& window, bool is_last) {
  if (!records_) return;
  const auto unwind = [&] {
    put_stacks(recorded_, roots_->proc_fd.get(), window,
               {.has_own_begin = !has_closed_window_, .has_own_end = is_last},
               options_.record.names);
  };
  is_last ? unwind() : void(drain_during(unwind));
}

void Session::mark_descendants(const Snapshot& before, Snapshot& after,
                               const ExitedThreads& exited) const {
  const bool saw_forks = exit_tracker_->sees_forks();
  ctprof::mark_descendants(before, after, exited,
                           {options_.command, saw_forks ? 0 : subreaper_pid()});
  if (!saw_forks)
    after.meta.notes.push_back(
        "descendants of the command are derived from the parent processes at the end of the "
        "window, because forks cannot be traced on this host: threads that exited earlier are not "
        "marked");
}

std::size_t Session::threads() const {
  if (!last_snapshot_) return 0;
  return last_snapshot_->window ? last_snapshot_->window->living_threads
                                : last_snapshot_->threads().rows;
}

Result<const Snapshot*> Session::next_window() {
  CTPROF_TRY_VALUE(auto window, close_window(false));
  has_closed_window_ = true;
  last_snapshot_ = std::move(window);
  exit_tracker_->begin_window();
  return &*last_snapshot_;
}

Result<Snapshot> Session::end() {
  if (!options_.is_window) return *std::exchange(last_snapshot_, std::nullopt);
  auto window = close_window(true);
  exit_tracker_.reset();
  records_.reset();
  return window;
}

}  // namespace ctprof
