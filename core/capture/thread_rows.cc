#include "core/capture/thread_rows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

std::uint64_t number(const Column* column, std::uint32_t row) {
  return column && column->has_value(row) ? column->u64()[row] : 0;
}

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

// Returns when another thread took over the id of a thread that was last read at `last`. REQUIRES:
// `execs` is sorted by tgid and time, because it can be as long as the list of threads.
std::uint64_t named_until(std::uint64_t tgid, std::uint64_t tid, std::uint64_t last,
                          std::span<const TookOver> took_over) {
  if (tid != tgid) return kForEver;
  const auto exec =
      std::ranges::lower_bound(took_over, std::pair(tgid, last), {},
                               [](const TookOver& one) { return std::pair(one.tgid, one.at_ns); });
  return exec == took_over.end() || exec->tgid != tgid ? kForEver : exec->at_ns;
}

// Returns which of several threads with one id, in order of time, had it at `at`; 0: the last one.
const ThreadRows::Row* holder(std::span<const ThreadRows::Row> rows, std::uint64_t at) {
  if (rows.empty()) return nullptr;
  const auto then =
      std::ranges::lower_bound(rows, at == 0 ? kForEver : at, {}, &ThreadRows::Row::until);
  return then == rows.end() ? &rows.back() : &*then;
}

std::uint64_t far_from(const Seen& seen, std::uint64_t at) {
  if (at < seen.first) return seen.first - at;
  return at > seen.last ? at - seen.last : 0;
}

}  // namespace

ThreadRows::ThreadRows(const Snapshot& window) {
  const Table& threads = window.threads();
  const Window none;
  const Window& what = window.window ? *window.window : none;
  const Column *tgids = threads.find_u64(kTgid), *tids = threads.find_u64(kTid),
               *starts = threads.find_u64(kStartTime), *counts = threads.find_u64(kThreads);
  const std::uint64_t opened = what.opened.boottime_ns;
  took_over_ = what.took_over;
  std::ranges::stable_sort(took_over_, {}, &TookOver::tgid);
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    Seen seen{0, std::numeric_limits<std::uint64_t>::max()};
    if (row < what.seen.size())
      seen = {opened + what.seen[row].first, opened + what.seen[row].last};
    const std::uint64_t tgid = number(tgids, row), tid = number(tids, row);
    rows_.push_back(
        {tgid, tid, number(starts, row), seen, named_until(tgid, tid, seen.last, took_over_), row});
    if (number(counts, row) < 2) continue;
    Row shared = rows_.back();
    shared.seen.first = opened;  // the start is known for only one of its threads
    shared_.emplace(shared.tgid, shared);
  }
  std::ranges::stable_sort(rows_, {}, [](const Row& row) {
    return std::tuple(row.tgid, row.tid, row.start, row.until);
  });
  std::ranges::stable_sort(
      took_over_, {}, [](const TookOver& one) { return std::tuple(one.tgid, one.tid, one.at_ns); });
}

std::span<const ThreadRows::Row> ThreadRows::rows_of(std::uint64_t tgid, std::uint64_t tid) const {
  const auto key = [](const Row& row) { return std::pair(row.tgid, row.tid); };
  return {std::ranges::lower_bound(rows_, std::pair(tgid, tid), {}, key),
          std::ranges::upper_bound(rows_, std::pair(tgid, tid), {}, key)};
}

// Returns the row of the thread after its exec changed its id.
const ThreadRows::Row* ThreadRows::successor(const ctprof_record& record) const {
  const auto exec = std::ranges::lower_bound(
      took_over_, std::tuple(record.tgid, record.tid, record.at_ns), {},
      [](const TookOver& one) { return std::tuple(one.tgid, one.tid, one.at_ns); });
  if (exec == took_over_.end() || exec->tgid != record.tgid || exec->tid != record.tid)
    return nullptr;
  const std::uint64_t start = exec->start_clock_ticks;
  if (start != 0 && start != record.start_time_clock_ticks) return nullptr;
  return holder(rows_of(record.tgid, record.tgid), exec->at_ns + 1);
}

const ThreadRows::Row* ThreadRows::find(const ctprof_record& record) const {
  const std::span<const Row> same = rows_of(record.tgid, record.tid);
  const std::uint64_t start = record.start_time_clock_ticks;
  const std::span<const Row> named(std::ranges::lower_bound(same, start, {}, &Row::start),
                                   std::ranges::upper_bound(same, start, {}, &Row::start));
  if (start != 0 && !named.empty()) return holder(named, record.at_ns);
  if (start == 0 && !same.empty())
    return &*std::ranges::min_element(
        same, {}, [&](const Row& row) { return far_from(row.seen, record.at_ns); });
  if (const Row* now = successor(record)) return now;
  const auto shared = shared_.find(record.tgid);
  return shared == shared_.end() ? nullptr : &shared->second;
}

}  // namespace ctprof
