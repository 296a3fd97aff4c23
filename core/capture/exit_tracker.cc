#include "core/capture/exit_tracker.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_exited_threads.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxRows = 100'000;

// Keeps the rows for which `is_kept(row)` is true.
template <class IsKept>
void keep_if(Table& threads, IsKept is_kept) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (is_kept(row)) rows.push_back(row);
  threads.keep_rows(rows);
}

// Distinguishes rows that report an exec or a new process from rows that report an exit.
struct EventKinds {
  explicit EventKinds(const Table& threads)
      : exec(threads.find(kTookOverLeader)), forked(threads.find(kIsNewDescendant)) {}

  static bool is_set(const Column* flag, std::uint32_t row) {
    return flag && flag->has_value(row) && flag->bools()[row] != 0;
  }
  bool is_exec(std::uint32_t row) const { return is_set(exec, row); }
  bool is_fork(std::uint32_t row) const { return is_set(forked, row); }
  bool is_exit(std::uint32_t row) const { return !is_exec(row) && !is_fork(row); }

  const Column* exec;
  const Column* forked;
};

// Removes forks of processes whose leader has exited: the leader's row has the same data.
void drop_exited_processes(const Table& threads, std::vector<ForkedProcess>& forks) {
  if (forks.empty()) return;
  std::set<std::pair<std::uint64_t, std::uint64_t>> leaders;
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64(),
             start = threads.find(kStartTime)->u64();
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (tgid[row] == tid[row]) leaders.insert({tgid[row], start[row]});
  std::erase_if(forks, [&](const ForkedProcess& birth) {
    return leaders.contains({birth.tgid, birth.start_clock_ticks});
  });
}

// Moves the rows that report an exec or a new process out of the table.
void extract_execs_and_forks(ExitedThreads& exited) {
  Table& threads = exited.rows.threads();
  if (threads.rows == 0) return;
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64(),
             start = threads.find(kStartTime)->u64();
  const EventKinds kinds(threads);
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (kinds.is_exec(row))
      exited.execs.push_back({tgid[row], tid[row], start[row], exited.exit_ns[row]});
    else if (kinds.is_fork(row))
      exited.forks.push_back({tgid[row], start[row], exited.exit_ns[row]});
  }
  keep_if(threads, [&](std::uint32_t row) { return kinds.is_exit(row); });
  std::ranges::sort(exited.execs, {}, &LeaderReplacement::at_ns);
  drop_exited_processes(threads, exited.forks);
}

// Returns the cgroup of the thread in this row; nullopt where it is unknown.
std::optional<std::string_view> cgroup_of(const Snapshot& exited, std::uint32_t row) {
  const Column* cgroups = exited.threads().find(kCgroup);
  if (!cgroups || !cgroups->has_value(row)) return std::nullopt;
  return exited.pools->texts[cgroups->ids()[row]];
}

}  // namespace

ExitTracker::ExitTracker(const Plan& plan, const ProbedHost& probed,
                         const std::vector<std::uint64_t>& pids, const std::string& cgroup,
                         std::uint64_t command, bool inherits)
    : pids_(pids),
      cgroup_(cgroup),
      command_(command),
      inherits_(inherits),
      failure_reason_(plan.no_exited_source_reason) {
  if (!plan.exited_thread_source) return;
  add_identity_columns(exited_.rows.threads());
  source_ = std::make_unique<SourceRun>(
      *plan.exited_thread_source, exited_.rows.threads(), *exited_.rows.pools,
      probed.host_for(*plan.exited_thread_source->plugin), 1, boottime_ns());
}

void ExitTracker::start() {
  if (!source_) return;
  ctprof_window window{};
  window.size = sizeof window;
  window.pids = pids_.data();
  window.pids_count = static_cast<std::uint32_t>(pids_.size());
  window.opened_ns = boottime_ns();
  window.command = command_;
  window.flags = inherits_ ? CTPROF_WINDOW_INHERIT : 0;
  is_started_ = source_->start(window);
  has_failed_ = !is_started_;
}

void ExitTracker::drain() {
  if (!is_started_ || has_failed_) return;
  has_failed_ = !source_->drain(read_at_, losses_);
  if (!cgroup_.empty()) drop_other_cgroups();
}

void ExitTracker::begin_window() {
  drain();
  opened_clock_ticks_ = boottime_ns() / ns_per_tick(clock_ticks_per_second()) + 1;
}

void ExitTracker::limit_rows() {
  if (exited_.rows.threads().rows <= kMaxRows) return;
  read_exit_times();
  extract_execs_and_forks(exited_);
  merge_exited_threads(exited_, opened_clock_ticks_, kMaxRows);
}

std::size_t ExitTracker::count_exits() const {
  const Table& threads = exited_.rows.threads();
  const EventKinds kinds(threads);
  std::size_t exit_count = exited_.merged;
  for (std::uint32_t row = 0; row < threads.rows; ++row) exit_count += kinds.is_exit(row) ? 1 : 0;
  return exit_count;
}

bool ExitTracker::sees_forks() const {
  return is_started_ && !has_failed_ && exited_.rows.threads().find(kIsNewDescendant);
}

std::vector<std::uint64_t> ExitTracker::forked_processes() const {
  std::vector<std::uint64_t> tgids;
  for (const ForkedProcess& birth : exited_.forks) tgids.push_back(birth.tgid);
  const Table& threads = exited_.rows.threads();
  const EventKinds kinds(threads);
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (kinds.is_fork(row)) tgids.push_back(threads.find(kTgid)->u64()[row]);
  return tgids;
}

void ExitTracker::drop_other_cgroups() {
  keep_if(exited_.rows.threads(), [&](std::uint32_t row) {
    const auto cgroup = cgroup_of(exited_.rows, row);
    return !cgroup || is_below(*cgroup, cgroup_);
  });
}

void ExitTracker::stop() {
  if (!is_started_ || has_failed_) return;
  has_failed_ = !source_->stop();
  drain();
}

// Keeps a thread with an unknown cgroup only if its process was part of the first capture.
void ExitTracker::drop_unknown_cgroups(const Snapshot& before) {
  const auto known_tgids = before.table(Entity::Process).find(kProcessTgid)->u64();
  const auto tgids = std::as_const(*exited_.rows.threads().find(kTgid)).u64();
  keep_if(exited_.rows.threads(), [&](std::uint32_t row) {
    return cgroup_of(exited_.rows, row) || std::ranges::binary_search(known_tgids, tgids[row]);
  });
}

void ExitTracker::read_exit_times() {
  const Table& threads = exited_.rows.threads();
  const Column* exit_times = threads.find(kExitedAt);
  exited_.exit_ns.assign(threads.rows, 0);
  if (exit_times) std::ranges::copy(exit_times->u64(), exited_.exit_ns.begin());
}

ExitedThreads& ExitTracker::collect(const Snapshot& before, std::vector<SourceCost>& costs) {
  if (source_) {
    costs.push_back(source_->cost());
    failure_reason_ = costs.back().failed;
  }
  read_exit_times();
  extract_execs_and_forks(exited_);
  if (source_ && !cgroup_.empty()) drop_unknown_cgroups(before);
  read_exit_times();
  exited_.lost = std::exchange(losses_.lost, 0);
  exited_.unseen = std::exchange(losses_.unseen, 0);
  exited_.has_source = is_started_;
  return exited_;
}

}  // namespace ctprof
