// Reads the accounts of processes whose stacks a BPF program walks (walk_account.h).
//
//   auto accounts = WalkAccounts::open(map);
//   accounts->end_window();
//   const std::string remark = accounts->describe_window("on-cpu");  // for the user
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

  // Ends a window. The first one begins when recording begins.
  void end_window();
  // Returns the sentence about all refused walks if some were refused in the window that ended
  // last, or later; otherwise empty.
  std::string describe_window(const std::string& recorder) const;

 private:
  explicit WalkAccounts(const walk_account* accounts) : accounts_(accounts) {}

  const walk_account* accounts_;  // WALK_ACCOUNTS elements, shared with the kernel
  // The number of refused walks when the last window began, and when it ended.
  std::uint64_t refused_at_begin_ = 0, refused_at_end_ = 0;
};

}  // namespace ctprof
