#include "core/capture/ends.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/identity_reader.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMostRows = 100'000;

// Moves the rows that are an exec, and no end, out of the table.
void take_execs(Ended& ended) {
  Table& threads = ended.rows.threads();
  const Column* took_over = threads.find(kTookOver);
  std::vector<std::uint32_t> ends;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    if (!took_over || !took_over->has_value(row) || !took_over->bools()[row]) {
      ends.push_back(row);
      continue;
    }
    ended.took_over.push_back({threads.find(kTgid)->u64()[row], threads.find(kTid)->u64()[row],
                               threads.find(kStartTime)->u64()[row], ended.at_ns[row]});
  }
  std::ranges::sort(ended.took_over, {}, &TookOver::at_ns);
  if (ends.size() == threads.rows) return;
  const std::vector<RowRun> runs = runs_of(ends);
  for (Column& column : threads.columns) {
    Column left(column.def(), 0, Gap::Untouched);
    left.gather(column, runs);
    left.provenance = column.provenance;
    column = std::move(left);
  }
  std::vector<std::uint64_t> at_ns;
  for (const std::uint32_t row : ends) at_ns.push_back(ended.at_ns[row]);
  ended.at_ns = std::move(at_ns);
  threads.rows = ends.size();
}

}  // namespace

Ends::Ends(const Plan& plan, const Probed& probed, const std::vector<std::uint64_t>& pids)
    : pids_(pids), why_not_(plan.no_ends) {
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
  if (started_ && !failed_) failed_ = !source_->drain(read_at_, missed_);
}

void Ends::opened() {
  drain();
  const auto hz = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  opened_clock_ticks_ = boottime_ns() / (kNsPerSecond / hz) + 1;
}

void Ends::bound() { merge_ended(ended_, opened_clock_ticks_, kMostRows); }

Ended Ends::take(std::vector<SourceCost>& costs) {
  if (started_ && !failed_) {
    failed_ = !source_->stop();
    drain();
  }
  if (source_) {
    SourceCost cost = source_->finish();
    why_not_ = cost.failed;
    costs.push_back(std::move(cost));
    source_.reset();
  }
  Table& threads = ended_.rows.threads();
  const auto at = threads.find(kEndedAt) ? std::as_const(*threads.find(kEndedAt)).u64()
                                         : std::span<const std::uint64_t>{};
  ended_.at_ns.assign(at.begin(), at.end());
  ended_.at_ns.resize(threads.rows);
  take_execs(ended_);
  ended_.lost = missed_.lost;
  ended_.unseen = missed_.unseen;
  ended_.told = started_;
  return std::move(ended_);
}

}  // namespace ctprof
