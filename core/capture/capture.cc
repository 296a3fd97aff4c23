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
#include "core/capture/recorded_words.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/process_state.hpp"
#include "core/window/descendants.hpp"

namespace ctprof {
namespace {

// The kernel's buffer of exit records lasts 1/3 s at the highest rate of exits that was measured.
constexpr std::chrono::milliseconds kDrainEvery{20};

// Checks that each pid exists and is a process, not a thread of another process.
Result<void> check_pids(const Roots& roots, const std::vector<std::uint64_t>& pids) {
  sdk::TextFile file;
  for (const std::uint64_t pid : pids) {
    const std::string number = std::to_string(pid);
    const auto status = file.read(roots.proc_fd.get(), (number + "/status").c_str());
    if (!status) return errno_error("looking for process", number, file.last_errno());
    const auto tgid = sdk::value_of(status.value, "Tgid");
    if (tgid && tgid.value != number)
      return error("looking for process", number,
                   "it is a thread of process " + std::string(tgid.value));
  }
  return {};
}

// Checks that the cgroup exists, if the mount shows the whole hierarchy.
Result<void> check_cgroup(const Roots& roots, const std::string& cgroup) {
  if (cgroup.empty()) return {};
  if (!roots.cgroup_fd)
    return error("looking for cgroup", cgroup, "no cgroup v2 hierarchy is mounted");
  const std::string path = "." + cgroup;
  if (roots.cgroup_root == "/" && ::faccessat(roots.cgroup_fd.get(), path.c_str(), F_OK, 0) != 0)
    return errno_error("looking for cgroup", cgroup, errno);
  return {};
}

bool leaves_out(const CaptureOptions& options) {
  return options.level == Level::Fast && !options.metrics;
}

// Returns the names of the metrics to plan; nullopt: all.
std::optional<std::vector<std::string>> wanted_metrics(const CaptureOptions& options,
                                                       const Probed& probed) {
  if (!leaves_out(options)) return options.metrics;
  std::vector<std::string> cheap;
  for (const ProbedField& field : probed.fields())
    if (!field.def->costly && !field.def->hidden) cheap.push_back(field.def->name);
  return cheap;
}

// Returns the expensive metrics that work here and that this capture skips. Marks are omitted.
std::vector<std::string> left_out(const CaptureOptions& options, const Probed& probed) {
  std::vector<std::string> names;
  if (!leaves_out(options)) return names;
  for (const ProbedField& field : probed.fields())
    if (field.def->costly && !field.def->hidden && !field.def->is_mark &&
        std::ranges::find(field.offers, Gap::None, &ProbedOffer::verdict) != field.offers.end())
      names.push_back(field.def->name);
  return names;
}

// Returns whether recorders work: while a window is open, or once beside a snapshot.
bool records(const CaptureOptions& options) {
  return !options.record.recorders.empty() && (options.window || options.record.once);
}

Recorders recorders_of(const CaptureOptions& options) {
  if (records(options)) return Recorders::All;
  return options.window ? Recorders::OfEnds : Recorders::None;
}

std::set<std::uint64_t> as_set(const std::vector<std::uint64_t>& pids) {
  return {pids.begin(), pids.end()};
}

// Returns the process that becomes the parent of orphaned descendants; 0: unknown.
std::uint64_t adopter() {
  int adopts = 0;
  const bool known = ::prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0) == 0;
  return known && adopts != 0 ? static_cast<std::uint64_t>(::getpid()) : 0;
}

}  // namespace

Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refused, Ahead ahead) {
  auto session = Session::open(registry, options, std::move(ahead));
  if (!session) return session.error();
  if (auto begun = session->begin(); !begun) return begun.error();
  if (refused) *refused = session->refused();
  return session->end();
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

Ahead::Ahead(const std::string& rootfs) {
  if (auto roots = open_roots(rootfs)) roots_ = std::make_unique<const Roots>(std::move(*roots));
}

void Ahead::open(const Plugin& plugin) {
  if (roots_ && plugin.open) contexts_.try_emplace(plugin.path, plugin, roots_->host());
}

Result<Session> Session::open(const Registry& registry, CaptureOptions options, Ahead ahead) {
  if (!ahead.roots_) {
    auto roots = open_roots(options.rootfs);
    if (!roots) return roots.error();
    ahead.roots_ = std::make_unique<const Roots>(std::move(*roots));
  }
  if (auto there = check_pids(*ahead.roots_, options.pids); !there) return there.error();
  if (auto there = check_cgroup(*ahead.roots_, options.cgroup); !there) return there.error();
  Session session(registry, std::move(options), std::move(ahead));
  if (auto enough = check_descriptors(kDescriptorsAfterProbing); !enough) return enough.error();
  return session;
}

Session::Session(const Registry& registry, CaptureOptions options, Ahead ahead)
    : options_(std::move(options)),
      roots_(std::move(ahead.roots_)),
      probed_(registry, roots_->host(), recorders_of(options_), std::move(ahead.contexts_)) {}

Result<void> Session::begin() {
  if (options_.window) state_ = host_state(*roots_);
  if (auto started = start_recorders(); !started) return started;
  auto snapshot = read(options_.window);
  if (!snapshot) return snapshot.error();
  read_ = std::move(*snapshot);
  if (records_ && options_.window) records_->open_sums();
  if (ends_) ends_->opened();
  if (records_ && !options_.window) add_one_look();
  return {};
}

// The recorders worked while the threads were read.
void Session::add_one_look() {
  const KeptProcessState kept;
  gather_recorded(true, read_->meta.start.boottime_ns, read_->meta);
  put_stacks(recorded_, roots_->proc_fd.get(), *read_, {});
  records_.reset();
}

bool Session::is_about_a_cgroup() const {
  return !options_.cgroup.empty() && options_.cgroup != "/";
}

// Creating ring buffers is slow. So recorders start before anything is planned, and the records of
// that time are dropped before the window opens.
Result<void> Session::start_recorders() {
  if (!records(options_)) return {};
  const KeptProcessState kept;
  const auto planned = plan_recorders(probed_, options_.record.recorders);
  if (!planned) return planned.error();
  const int proc = roots_->proc_fd.get();
  if (is_about_a_cgroup()) options_.record.cgroup = cgroup_id(*roots_, options_.cgroup);
  records_ = std::make_unique<Records>(
      *planned, probed_, options_.record,
      WantedProcesses(options_.pids, options_.cgroup, proc, options_.record.inherits), proc);
  return records_->start();
}

// Descendants of a command are marked in the rows instead of being followed.
bool Session::follows_children() const {
  return options_.window && options_.record.inherits && !options_.pids.empty() &&
         options_.command == 0;
}

// Adds forked processes to children_. Where no source reports forks, searches the parent ids of
// living processes.
void Session::find_children() {
  if (!follows_children()) return;
  std::vector<std::uint64_t> family = options_.pids;
  if (records_) children_.merge(as_set(records_->followed()));
  children_.merge(as_set(ends_->born()));
  if (ends_->sees_births()) return;
  family.insert(family.end(), children_.begin(), children_.end());
  const std::uint64_t ns_per_tick = kNsPerSecond / std::max<std::uint64_t>(1, read_->meta.user_hz);
  children_.merge(as_set(
      children_of(roots_->proc_fd.get(), family, read_->meta.start.boottime_ns / ns_per_tick)));
}

// Their ids may belong to other processes in the next window.
void Session::forget_exited_children(const Snapshot& window) {
  if (children_.empty()) return;
  const auto tgids = window.threads().find(kTgid)->u64();
  const std::set<std::uint64_t> living(tgids.begin(), tgids.end());
  std::erase_if(children_, [&](std::uint64_t child) { return !living.contains(child); });
}

// Reads the host. If this opens a window, starts watching for exited threads first.
Result<Snapshot> Session::read(bool opens) {
  const KeptProcessState kept;
  Lost lost;
  std::vector<SourceCost> costs;
  const auto wanted = wanted_metrics(options_, probed_);
  CaptureOptions reads = options_;
  reads.pids.insert(reads.pids.end(), children_.begin(), children_.end());
  for (;;) {
    const auto plan = make_plan(probed_, wanted, lost);
    if (!plan) return plan.error();
    refused_ = probed_.thrown();
    refused_.insert(refused_.end(), plan->refused.begin(), plan->refused.end());
    if (opens && !ends_) {
      ends_ = std::make_unique<Ends>(*plan, probed_, options_.pids, options_.cgroup,
                                     options_.command, follows_children());
      ends_->start();
      if (records_) records_->forget();
    }
    std::optional<Result<std::variant<Snapshot, FailedLister>>> outcome;
    const std::uint64_t drainer =
        drain_during([&] { outcome = HostPass(probed_, *roots_, *plan, reads).run(); });
    if (!*outcome) return outcome->error();
    if (auto* snapshot = std::get_if<Snapshot>(&**outcome)) {
      snapshot->meta.sources.insert(snapshot->meta.sources.begin(), costs.begin(), costs.end());
      snapshot->meta.left_out = left_out(options_, probed_);
      if (drainer != 0 && roots_->own_tids) snapshot->meta.own_threads.push_back(drainer);
      return std::move(*snapshot);
    }
    const auto& [source, cost] = std::get<FailedLister>(**outcome);
    lost[source] = cost.failed;
    costs.push_back(cost);
  }
}

void Session::drain() {
  const KeptProcessState kept;
  if (!ends_) return;
  drain_sources();
  ends_->bound();
}

void Session::drain_sources() {
  ends_->drain();
  if (records_) records_->drain();
}

std::uint64_t Session::drain_during(const std::function<void()>& work) {
  if (!ends_) return work(), 0;
  const KeptProcessState kept;
  return work_beside(
      kDrainEvery, [this] { drain_sources(); }, work);
}

Result<Snapshot> Session::window_until_now(bool is_last) {
  drain();  // distinguishes earlier exits from exits while the host is read
  find_children();
  const Snapshot before = end_of(*std::exchange(read_, std::nullopt));
  if (records_) records_->close_sums();
  auto after = read(false);
  if (after) forget_exited_children(*after);
  if (!after) return after.error();
  const KeptProcessState kept;
  is_last ? ends_->stop() : ends_->drain();
  gather_recorded(is_last, before.meta.start.boottime_ns, after->meta);
  Ended& ended = ends_->told(before, after->meta.sources);
  if (options_.command != 0) mark_descendants(before, *after, ended);
  auto window = make_lap(before, std::move(*after), ended, "the window's begin", "its end");
  if (!window) return window;
  add_stacks(*window, is_last);
  if (window->window->ended_merged > 0)
    window->meta.notes.push_back(std::to_string(window->window->ended_merged) +
                                 " exited threads share rows with others of the same process, name "
                                 "and cgroup, because there were too many");
  if (!ends_->why_not().empty())
    window->meta.notes.push_back("exited threads are not recorded: " + ends_->why_not());
  const HostState state = host_state(*roots_);
  window->window->partial = !options_.pids.empty() || !options_.cgroup.empty();
  std::ranges::move(what_happened(std::exchange(state_, state), state),
                    std::back_inserter(window->window->notes));
  return window;
}

void Session::gather_recorded(bool is_last, std::uint64_t opened_ns, Meta& meta) {
  if (!records_) return;
  records_->end_window();
  if (is_last) records_->stop();
  recorded_ = records_->take();
  if (options_.window && !is_last) records_->open_sums();
  for (Recorded& recorded : recorded_.recorders) {
    keep_losses_since(recorded, opened_ns, !has_laps_);
    if (!recorded.remark.empty()) meta.notes.push_back(recorded.remark);
    if (recorded.tables_refused > 0) meta.notes.push_back(tables_refused_in_words(recorded));
  }
  if (is_about_a_cgroup() && options_.record.cgroup == 0)
    meta.notes.push_back(
        "recorders follow the whole host, for no mounted cgroup v2 hierarchy shows cgroup '" +
        options_.cgroup + "'; records of other cgroups are dropped");
}

// Puts the recorded stacks into the rows of their threads. Unless it is the last window, recorders
// continue meanwhile.
void Session::add_stacks(Snapshot& window, bool is_last) {
  if (!records_) return;
  const auto unwind = [&] {
    put_stacks(recorded_, roots_->proc_fd.get(), window, {.begin = !has_laps_, .end = is_last},
               options_.record.names);
  };
  is_last ? unwind() : void(drain_during(unwind));
}

void Session::mark_descendants(const Snapshot& before, Snapshot& after, const Ended& ended) const {
  const bool saw_births = ends_->sees_births();
  ctprof::mark_descendants(before, after, ended, {options_.command, saw_births ? 0 : adopter()});
  if (!saw_births)
    after.meta.notes.push_back(
        "descendants of the command are found from parents at the end of the window, because forks "
        "cannot be traced here: threads that exited before are not marked");
}

std::size_t Session::threads() const {
  if (!read_) return 0;
  return read_->window ? read_->window->living : read_->threads().rows;
}

Result<const Snapshot*> Session::lap() {
  auto window = window_until_now(false);
  if (!window) return window.error();
  has_laps_ = true;
  read_ = std::move(*window);
  ends_->opened();
  return &*read_;
}

Result<Snapshot> Session::end() {
  if (!options_.window) return *std::exchange(read_, std::nullopt);
  auto window = window_until_now(true);
  ends_.reset();
  records_.reset();
  return window;
}

}  // namespace ctprof
