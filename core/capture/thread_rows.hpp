// Finds the row of a record's thread in a window, by tgid, tid, start time (if recorded) and the
// time of the record.
//
// A thread that replaced its leader by exec(2) has one row, with the leader's id. Records with its
// previous id belong to that row. If two rows have the same id, a record belongs to the thread that
// had the id when the record was taken.
//
// Threads: any, after construction.

#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

class ThreadRows {
 public:
  struct Row {
    std::uint64_t tgid, tid, start;
    SeenTimes read_times;       // CLOCK_BOOTTIME
    std::uint64_t id_until_ns;  // CLOCK_BOOTTIME, when another thread took over its id
    std::uint32_t row;
  };

  explicit ThreadRows(const Snapshot& window);
  // Returns null if the thread has no row.
  const Row* find(const ctprof_record& record) const;

 private:
  std::span<const Row> rows_of(std::uint64_t tgid, std::uint64_t tid) const;
  const Row* find_after_exec(const ctprof_record& record) const;

  std::vector<Row> rows_;                               // sorted by tgid and tid
  std::unordered_map<std::uint64_t, Row> merged_rows_;  // by tgid: a merged row of several threads
  std::vector<LeaderReplacement> execs_;
};

}  // namespace ctprof
