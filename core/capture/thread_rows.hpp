// The threads of a window, to be found by what a record says of them: tgid, tid, start time where
// it is told, and when the record was taken.
//
// A thread that took its leader's place by exec has one row, under the leader's name: records with
// its name of before are its own, and of two rows of one name the one that had it when the record
// was taken is meant.
//
// Threads: any, once it is made.

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
    Seen seen;            // on CLOCK_BOOTTIME
    std::uint64_t until;  // likewise, when another thread got its name
    std::uint32_t row;
  };

  explicit ThreadRows(const Snapshot& window);
  // Null where no row has the thread.
  const Row* find(const ctprof_record& record) const;

 private:
  std::span<const Row> rows_of(std::uint64_t tgid, std::uint64_t tid) const;
  const Row* successor(const ctprof_record& record) const;

  std::vector<Row> rows_;                          // by tgid and tid
  std::unordered_map<std::uint64_t, Row> shared_;  // by tgid: a row of several threads
  std::vector<TookOver> took_over_;
};

}  // namespace ctprof
