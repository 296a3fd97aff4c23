#include "core/capture/ends.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostRows = 100'000;

// Keeps the rows for which `is_kept(row)` is true.
template <class IsKept>
void keep_if(Table& threads, IsKept is_kept) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (is_kept(row)) kept.push_back(row);
  threads.keep(kept);
}

// Distinguishes rows that report an exec or a new process from rows that report an exit.
struct Others {
  explicit Others(const Table& threads)
      : took_over(threads.find(kTookOver)), was_born(threads.find(kWasBorn)) {}

  static bool is_set(const Column* flag, std::uint32_t row) {
    return flag && flag->has_value(row) && flag->bools()[row] != 0;
  }
  bool is_exec(std::uint32_t row) const { return is_set(took_over, row); }
  bool is_birth(std::uint32_t row) const { return is_set(was_born, row); }
  bool is_end(std::uint32_t row) const { return !is_exec(row) && !is_birth(row); }

  const Column* took_over;
  const Column* was_born;
};

// Removes forks of processes whose leader has exited: the leader's row has the same data.
void forget_ended(const Table& threads, std::vector<Birth>& births) {
  if (births.empty()) return;
  std::set<std::pair<std::uint64_t, std::uint64_t>> leaders;
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64(),
             start = threads.find(kStartTime)->u64();
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (tgid[row] == tid[row]) leaders.insert({tgid[row], start[row]});
  std::erase_if(births, [&](const Birth& birth) {
    return leaders.contains({birth.tgid, birth.start_clock_ticks});
  });
}

// Moves the rows that report an exec or a new process out of the table.
void take_others(Ended& ended) {
  Table& threads = ended.rows.threads();
  if (threads.rows == 0) return;
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64(),
             start = threads.find(kStartTime)->u64();
  const Others others(threads);
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (others.is_exec(row))
      ended.took_over.push_back({tgid[row], tid[row], start[row], ended.at_ns[row]});
    else if (others.is_birth(row))
      ended.births.push_back({tgid[row], start[row], ended.at_ns[row]});
  }
  keep_if(threads, [&](std::uint32_t row) { return others.is_end(row); });
  std::ranges::sort(ended.took_over, {}, &TookOver::at_ns);
  forget_ended(threads, ended.births);
}

// Returns the cgroup of the thread in this row; nullopt where it is unknown.
std::optional<std::string_view> cgroup_of(const Snapshot& ended, std::uint32_t row) {
  const Column* cgroups = ended.threads().find(kCgroup);
  if (!cgroups || !cgroups->has_value(row)) return std::nullopt;
  return ended.pools->texts[cgroups->ids()[row]];
}

}  // namespace

Ends::Ends(const Plan& plan, const Probed& probed, const std::vector<std::uint64_t>& pids,
           const std::string& cgroup, std::uint64_t command, bool inherits)
    : pids_(pids), cgroup_(cgroup), command_(command), inherits_(inherits), why_not_(plan.no_ends) {
  if (!plan.ends) return;
  add_identity_columns(ended_.rows.threads());
  source_ = std::make_unique<SourceRun>(*plan.ends, ended_.rows.threads(), *ended_.rows.pools,
                                        probed.host_for(*plan.ends->plugin), 1, boottime_ns());
}

void Ends::start() {
  if (!source_) return;
  ctprof_window window{};
  window.size = sizeof window;
  window.pids = pids_.data();
  window.pids_count = static_cast<std::uint32_t>(pids_.size());
  window.opened_ns = boottime_ns();
  window.command = command_;
  window.flags = inherits_ ? CTPROF_WINDOW_INHERIT : 0;
  started_ = source_->start(window);
  failed_ = !started_;
}

void Ends::drain() {
  if (!started_ || failed_) return;
  failed_ = !source_->drain(read_at_, missed_);
  if (!cgroup_.empty()) leave_out_others();
}

void Ends::opened() {
  drain();
  const auto hz = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  opened_clock_ticks_ = boottime_ns() / (kNsPerSecond / hz) + 1;
}

void Ends::bound() {
  if (ended_.rows.threads().rows <= kMostRows) return;
  take_moments();
  take_others(ended_);
  merge_ended(ended_, opened_clock_ticks_, kMostRows);
}

std::size_t Ends::seen() const {
  const Table& threads = ended_.rows.threads();
  const Others others(threads);
  std::size_t ends = ended_.merged;
  for (std::uint32_t row = 0; row < threads.rows; ++row) ends += others.is_end(row) ? 1 : 0;
  return ends;
}

bool Ends::sees_births() const {
  return started_ && !failed_ && ended_.rows.threads().find(kWasBorn);
}

std::vector<std::uint64_t> Ends::born() const {
  std::vector<std::uint64_t> tgids;
  for (const Birth& birth : ended_.births) tgids.push_back(birth.tgid);
  const Table& threads = ended_.rows.threads();
  const Others others(threads);
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (others.is_birth(row)) tgids.push_back(threads.find(kTgid)->u64()[row]);
  return tgids;
}

void Ends::leave_out_others() {
  keep_if(ended_.rows.threads(), [&](std::uint32_t row) {
    const auto cgroup = cgroup_of(ended_.rows, row);
    return !cgroup || is_below(*cgroup, cgroup_);
  });
}

void Ends::stop() {
  if (!started_ || failed_) return;
  failed_ = !source_->stop();
  drain();
}

// Keeps a thread with an unknown cgroup only if its process was part of the first capture.
void Ends::leave_out_unplaced(const Snapshot& before) {
  const auto known = before.table(Entity::Process).find(kProcessTgid)->u64();
  const auto tgids = std::as_const(*ended_.rows.threads().find(kTgid)).u64();
  keep_if(ended_.rows.threads(), [&](std::uint32_t row) {
    return cgroup_of(ended_.rows, row) || std::ranges::binary_search(known, tgids[row]);
  });
}

void Ends::take_moments() {
  const Table& threads = ended_.rows.threads();
  const Column* at = threads.find(kEndedAt);
  ended_.at_ns.assign(threads.rows, 0);
  if (at) std::ranges::copy(at->u64(), ended_.at_ns.begin());
}

Ended& Ends::told(const Snapshot& before, std::vector<SourceCost>& costs) {
  if (source_) {
    costs.push_back(source_->cost());
    why_not_ = costs.back().failed;
  }
  take_moments();
  take_others(ended_);
  if (source_ && !cgroup_.empty()) leave_out_unplaced(before);
  take_moments();
  ended_.lost = std::exchange(missed_.lost, 0);
  ended_.unseen = std::exchange(missed_.unseen, 0);
  ended_.told = started_;
  return ended_;
}

}  // namespace ctprof
