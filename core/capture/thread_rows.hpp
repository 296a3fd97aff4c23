// The threads of a window, to be found by what a record says of them: tgid, tid, start time where
// it is told, and else when the record was taken.
//
// Threads: any, once it is made.

#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

class ThreadRows {
 public:
  struct Row {
    std::uint64_t tgid, tid, start;
    Seen seen;  // on CLOCK_BOOTTIME
    std::uint32_t row;
  };

  explicit ThreadRows(const Snapshot& window);
  // Null where no row has the thread.
  const Row* find(const ctprof_record& record) const;

 private:
  std::vector<Row> rows_;                          // by tgid and tid
  std::unordered_map<std::uint64_t, Row> shared_;  // by tgid: a row of several threads
};

}  // namespace ctprof
