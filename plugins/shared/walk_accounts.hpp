// The accounts of processes whose stacks a BPF program walks (walk_account.h), as its reader sees
// them.
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

// A sentence about walks that were refused for their cost; empty if none was. Names the process of
// which the most were, and how many others there are.
std::string refused_in_words(const std::string& recorder, std::span<const walk_account> accounts);

class WalkAccounts {
 public:
  // `map`: the program's, which outlives it. Null, and errno, where it cannot be read.
  static std::unique_ptr<WalkAccounts> open(int map);
  ~WalkAccounts();
  WalkAccounts(const WalkAccounts&) = delete;
  WalkAccounts& operator=(const WalkAccounts&) = delete;

  // The sentence about all refused walks, if some were refused since the last call; else empty.
  std::string take_remark(const std::string& recorder);

 private:
  explicit WalkAccounts(const walk_account* accounts) : accounts_(accounts) {}

  const walk_account* accounts_;  // WALK_ACCOUNTS of them, shared with the kernel
  std::uint64_t reported_ = 0;
};

}  // namespace ctprof
