// Which processes the user of ctprof may look into without the capabilities that the executable
// lends: the kernel is asked, by an operation that ptrace(2) access decides.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class OwnProcesses {
 public:
  enum class Whose : std::uint8_t { Own, Foreign, Exited };

  // `proc`: the open directory /proc; it may be closed afterwards. `is_lent`: whether ctprof has
  // rights that its user does not have; otherwise all processes are Own.
  OwnProcesses(int proc, bool is_lent);

  // Whose the process is now. An answer is kept: a process that runs another program afterwards is
  // asked about again only by another object.
  Whose whose(std::uint64_t tgid);

 private:
  Whose find(std::uint64_t tgid) const;

  bool is_lent_;
  sdk::Fd proc_;
  std::unordered_map<std::uint64_t, Whose, SeededHash> known_;
};

}  // namespace ctprof
