// Identities of threads: the process, the thread id, and the start time in clock ticks. They are
// unique, unless a thread got its leader's identity by exec (infer_execs.hpp).

#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/registry/identity.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct ThreadIdentity {
  std::uint64_t tgid = 0, tid = 0, start = 0;
  auto operator<=>(const ThreadIdentity&) const = default;
  bool is_leader() const { return tid == tgid; }
};

// Returns one per row; 0 for missing columns.
inline std::vector<ThreadIdentity> thread_identities(const Table& threads) {
  std::vector<ThreadIdentity> names(threads.rows);
  const auto read = [&](std::string_view metric, auto member) {
    const Column* column = threads.find_u64(metric);
    for (std::size_t row = 0; column && row < names.size(); ++row)
      names[row].*member = column->u64()[row];
  };
  read(kTgid, &ThreadIdentity::tgid);
  read(kTid, &ThreadIdentity::tid);
  read(kStartTime, &ThreadIdentity::start);
  return names;
}

}  // namespace ctprof
