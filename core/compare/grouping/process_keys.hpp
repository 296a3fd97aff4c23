// Keys of processes: "pcomm[tgid]", and what a text metric of a process says.
//
// What is here:   finding a thread's process, and naming it.
// What is not:    which rows are grouped by it (group_book.hpp).

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

// The column's numbers; none where the table has no such column.
std::span<const std::uint64_t> numbers(const Table& table, std::string_view name);

// The row of a process's leader, or its first thread where the leader is not listed; as many as
// there are threads where it has none. REQUIRES: threads in (tgid, tid) order.
std::size_t leader_row(std::uint64_t process, std::span<const std::uint64_t> tgids,
                       std::span<const std::uint64_t> tids);

// Of one snapshot, which outlives this.
class ProcessKeys {
 public:
  explicit ProcessKeys(const Snapshot& snapshot);

  // "pcomm[tgid]" of a row of threads, or of a row of processes with its leader's.
  std::string of_thread(std::size_t row) const;
  std::string of_process(std::size_t row, std::size_t leader) const;
  // What the metric says of the thread's process; empty where there is nothing.
  std::string_view text_of_thread(const Column& metric, std::size_t row) const;

 private:
  std::string key(std::size_t thread, std::uint64_t tgid) const;

  const Snapshot* snapshot_;
  const Column* pcomms_;
  std::span<const std::uint64_t> tgids_, process_tgids_;
  std::unordered_map<std::uint64_t, std::size_t> row_of_;  // of processes, by tgid
};

// The column of texts that the metric has on a side; null where it has none.
const Column* find_process_text(const Snapshot& side, std::string_view metric);

// Fails where threads are to be grouped by a metric that is no text of a process on any side.
Result<void> check_axis(std::span<const Snapshot* const> sides, const Spec& spec);

}  // namespace ctprof
