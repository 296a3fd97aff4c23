// Keys of processes: "pcomm[tgid]", or the value of a text metric.
//
// Not here: which rows are grouped by them (group_book.hpp).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The column's numbers; empty if the table has no such column.
std::span<const std::uint64_t> numbers(const Table& table, std::string_view name);

// The row of a process's leader, or of its first thread if the leader is not listed. The number of
// threads if it has none. REQUIRES: threads in (tgid, tid) order.
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids);

// REQUIRES: the snapshot outlives this.
class ProcessKeys {
 public:
  explicit ProcessKeys(const Snapshot& snapshot);

  // "pcomm[tgid]" for a row of threads, or for a row of processes and its leader's row.
  std::string of_thread(std::size_t row) const;
  std::string of_process(std::size_t row, std::size_t leader) const;
  // The metric's text for the thread's process; empty if there is none.
  std::string_view text_of_thread(const Column& metric, std::size_t row) const;

 private:
  std::string key(std::size_t thread, std::uint64_t tgid) const;

  const Snapshot* snapshot_;
  const Column* pcomms_;
  std::span<const std::uint64_t> tgids_, process_tgids_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // of processes, by tgid
};

// The metric's column if it is a text of processes, or null.
const Column* find_process_text(const Snapshot& side, std::string_view metric);

// Fails if --group-by names a metric that is not a text of processes on any side.
Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec);

}  // namespace ctprof
