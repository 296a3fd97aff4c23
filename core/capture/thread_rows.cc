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

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Returns when another thread took over the id of a thread that was last read at `last`. REQUIRES:
// `execs` is sorted by tgid and time, because it can be as long as the list of threads.
std::uint64_t id_end_ns(std::uint64_t tgid, std::uint64_t tid, std::uint64_t last,
                        std::span<const LeaderReplacement> execs) {
  if (tid != tgid) return kNever;
  const auto exec = std::ranges::lower_bound(
      execs, std::pair(tgid, last), {},
      [](const LeaderReplacement& exec) { return std::pair(exec.tgid, exec.at_ns); });
  return exec == execs.end() || exec->tgid != tgid ? kNever : exec->at_ns;
}

// Returns which of several threads with the same id, in order of time, had it at `at`; 0: the last
// one.
const ThreadRows::Row* find_id_owner(std::span<const ThreadRows::Row> rows, std::uint64_t at) {
  if (rows.empty()) return nullptr;
  const auto found =
      std::ranges::lower_bound(rows, at == 0 ? kNever : at, {}, &ThreadRows::Row::id_until_ns);
  return found == rows.end() ? &rows.back() : &*found;
}

std::uint64_t distance_to(const SeenTimes& read_times, std::uint64_t at) {
  if (at < read_times.first) return read_times.first - at;
  return at > read_times.last ? at - read_times.last : 0;
}

}  // namespace

ThreadRows::ThreadRows(const Snapshot& window) {
  const Table& threads = window.threads();
  const Window empty_window;
  const Window& window_data = window.window ? *window.window : empty_window;
  const Column *tgids = threads.find_u64(kTgid), *tids = threads.find_u64(kTid),
               *starts = threads.find_u64(kStartTime), *counts = threads.find_u64(kThreads);
  const std::uint64_t opened = window_data.opened_at.boottime_ns;
  execs_ = window_data.leader_replacements;
  std::ranges::stable_sort(execs_, {}, &LeaderReplacement::tgid);
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    SeenTimes read_times{0, std::numeric_limits<std::uint64_t>::max()};
    if (row < window_data.seen_times.size())
      read_times = {opened + window_data.seen_times[row].first,
                    opened + window_data.seen_times[row].last};
    const std::uint64_t tgid = number(tgids, row), tid = number(tids, row);
    rows_.push_back({tgid, tid, number(starts, row), read_times,
                     id_end_ns(tgid, tid, read_times.last, execs_), row});
    if (number(counts, row) < 2) continue;
    Row shared = rows_.back();
    shared.read_times.first = opened;  // the start is known for only one of its threads
    merged_rows_.emplace(shared.tgid, shared);
  }
  std::ranges::stable_sort(rows_, {}, [](const Row& row) {
    return std::tuple(row.tgid, row.tid, row.start, row.id_until_ns);
  });
  std::ranges::stable_sort(execs_, {}, [](const LeaderReplacement& exec) {
    return std::tuple(exec.tgid, exec.tid, exec.at_ns);
  });
}

std::span<const ThreadRows::Row> ThreadRows::rows_of(std::uint64_t tgid, std::uint64_t tid) const {
  const auto key = [](const Row& row) { return std::pair(row.tgid, row.tid); };
  return {std::ranges::lower_bound(rows_, std::pair(tgid, tid), {}, key),
          std::ranges::upper_bound(rows_, std::pair(tgid, tid), {}, key)};
}

// Returns the row of the thread after its exec changed its id.
const ThreadRows::Row* ThreadRows::find_after_exec(const ctprof_record& record) const {
  const auto exec = std::ranges::lower_bound(
      execs_, std::tuple(record.tgid, record.tid, record.at_ns), {},
      [](const LeaderReplacement& exec) { return std::tuple(exec.tgid, exec.tid, exec.at_ns); });
  if (exec == execs_.end() || exec->tgid != record.tgid || exec->tid != record.tid) return nullptr;
  const std::uint64_t start = exec->start_clock_ticks;
  if (start != 0 && start != record.start_time_clock_ticks) return nullptr;
  return find_id_owner(rows_of(record.tgid, record.tgid), exec->at_ns + 1);
}

const ThreadRows::Row* ThreadRows::find(const ctprof_record& record) const {
  const std::span<const Row> candidates = rows_of(record.tgid, record.tid);
  const std::uint64_t start = record.start_time_clock_ticks;
  const std::span<const Row> with_start(
      std::ranges::lower_bound(candidates, start, {}, &Row::start),
      std::ranges::upper_bound(candidates, start, {}, &Row::start));
  if (start != 0 && !with_start.empty()) return find_id_owner(with_start, record.at_ns);
  if (start == 0 && !candidates.empty())
    return &*std::ranges::min_element(
        candidates, {}, [&](const Row& row) { return distance_to(row.read_times, record.at_ns); });
  if (const Row* row = find_after_exec(record)) return row;
  const auto shared = merged_rows_.find(record.tgid);
  return shared == merged_rows_.end() ? nullptr : &shared->second;
}

}  // namespace ctprof
