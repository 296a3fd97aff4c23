#include "core/capture/thread_rows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// The column's numbers, or null where the table lacks it.
const Column* numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  return column && column->def().storage == Storage::U64 ? column : nullptr;
}

std::uint64_t number(const Column* column, std::uint32_t row) {
  return column && column->has_value(row) ? column->u64()[row] : 0;
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
  const Column *tgids = numbers(threads, kTgid), *tids = numbers(threads, kTid),
               *starts = numbers(threads, kStartTime), *counts = numbers(threads, kThreads);
  const std::uint64_t opened = what.opened.boottime_ns;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    Seen seen{0, std::numeric_limits<std::uint64_t>::max()};
    if (row < what.seen.size())
      seen = {opened + what.seen[row].first, opened + what.seen[row].last};
    rows_.push_back({number(tgids, row), number(tids, row), number(starts, row), seen, row});
    if (number(counts, row) < 2) continue;
    Row shared = rows_.back();
    shared.seen.first = opened;  // it is known of one of them alone
    shared_.emplace(shared.tgid, shared);
  }
  std::ranges::stable_sort(rows_, {}, [](const Row& row) { return std::pair(row.tgid, row.tid); });
}

const ThreadRows::Row* ThreadRows::find(const ctprof_record& record) const {
  const auto key = [](const Row& row) { return std::pair(row.tgid, row.tid); };
  const std::pair sought(record.tgid, record.tid);
  const auto first = std::ranges::lower_bound(rows_, sought, {}, key);
  const std::span same(first, std::ranges::upper_bound(rows_, sought, {}, key));
  const std::uint64_t start = record.start_time_clock_ticks;
  const auto named = std::ranges::find(same, start, &Row::start);
  if (start != 0 && named != same.end()) return &*named;
  const auto nearest = std::ranges::min_element(
      same, {}, [&](const Row& row) { return far_from(row.seen, record.at_ns); });
  if (start == 0 && nearest != same.end()) return &*nearest;
  const auto shared = shared_.find(record.tgid);
  return shared == shared_.end() ? nullptr : &shared->second;
}

}  // namespace ctprof
