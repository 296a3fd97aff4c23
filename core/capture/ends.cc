#include "core/capture/ends.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMostRows = 100'000;

// Keeps the rows for which `is_kept(row)` is true.
template <class IsKept>
void keep_if(Table& threads, IsKept is_kept) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t row = 0; row < threads.rows; ++row)
    if (is_kept(row)) kept.push_back(row);
  threads.keep(kept);
}

// Moves the rows that are an exec, and no end, out of the table.
void take_execs(Ended& ended) {
  Table& threads = ended.rows.threads();
  const Column* took_over = threads.find(kTookOver);
  keep_if(threads, [&](std::uint32_t row) {
    if (!took_over || !took_over->has_value(row) || !took_over->bools()[row]) return true;
    ended.took_over.push_back({threads.find(kTgid)->u64()[row], threads.find(kTid)->u64()[row],
                               threads.find(kStartTime)->u64()[row], ended.at_ns[row]});
    return false;
  });
  std::ranges::sort(ended.took_over, {}, &TookOver::at_ns);
}

// The cgroup that the thread in this row was in; nothing where that is not known.
std::optional<std::string_view> cgroup_of(const Snapshot& ended, std::uint32_t row) {
  const Column* cgroups = ended.threads().find(kCgroup);
  if (!cgroups || !cgroups->has_value(row)) return std::nullopt;
  return ended.pools->texts[cgroups->ids()[row]];
}

}  // namespace

Ends::Ends(const Plan& plan, const Probed& probed, const std::vector<std::uint64_t>& pids,
           const std::string& cgroup)
    : pids_(pids), cgroup_(cgroup), why_not_(plan.no_ends) {
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

void Ends::bound() { merge_ended(ended_, opened_clock_ticks_, kMostRows); }

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

// Who ended without a cgroup that is known counts if its process was there at the beginning.
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
  take_execs(ended_);
  if (source_ && !cgroup_.empty()) leave_out_unplaced(before);
  take_moments();
  ended_.lost = std::exchange(missed_.lost, 0);
  ended_.unseen = std::exchange(missed_.unseen, 0);
  ended_.told = started_;
  return ended_;
}

}  // namespace ctprof
