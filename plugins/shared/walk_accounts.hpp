// Reads the accounts of processes whose stacks a BPF program walks (walk_account.h).
//
//   auto accounts = WalkAccounts::open(map);
//   const std::string remark = accounts->take_remark("on-cpu");  // for the user
//
// Threads: one at a time.

#pragma once

#include <linux/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "plugins/shared/walk_account.h"

namespace ctprof {

// Returns a sentence about walks that were refused for their cost; empty if none was refused. It
// names the process with the most refusals, and the number of other processes.
std::string describe_refused_walks(const std::string& recorder,
                                   std::span<const walk_account> accounts);

class WalkAccounts {
 public:
  // `map` is the map of the program, which outlives this object. Returns null, and sets errno, if
  // it cannot be mapped.
  static std::unique_ptr<WalkAccounts> open(int map);
  ~WalkAccounts();
  WalkAccounts(const WalkAccounts&) = delete;
  WalkAccounts& operator=(const WalkAccounts&) = delete;

  // Returns the sentence about all refused walks if some were refused since the last call;
  // otherwise empty.
  std::string take_remark(const std::string& recorder);

 private:
  explicit WalkAccounts(const walk_account* accounts) : accounts_(accounts) {}

  const walk_account* accounts_;  // WALK_ACCOUNTS elements, shared with the kernel
  std::uint64_t reported_ = 0;
};

}  // namespace ctprof
