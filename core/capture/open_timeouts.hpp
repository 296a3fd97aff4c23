// Decides which files may still be opened after earlier opens timed out.
//
// A file server may never answer. A process can block lookups of its own mappings, because it holds
// the lock of its memory map while it waits for such a server. So a device that is not a disk of
// this host is not used again after one timeout. A local disk always answers: if an open on it
// timed out, only the process through which it was opened is skipped. Other processes that mapped
// files on that disk are not affected. A user can start many such processes, so after some timeouts
// all processes of the user are skipped. This does not apply to root, which can block ctprof by
// other means.
//
// The total wait is bounded: after five timeouts, each further open may take one twentieth of the
// time limit; after sixty of those, it opens no more files.
//
// Threads: used by one thread at a time.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/stacks/address_space.hpp"

namespace ctprof {

class OpenTimeouts {
 public:
  static constexpr std::size_t kMaxFullWaits = 5, kMaxShortWaits = 60;
  static constexpr std::size_t kMaxTimeoutsPerUser = 3;

  // A process, and its user if that is known.
  struct Target {
    std::uint64_t process = 0;  // 0: none
    std::optional<uid_t> user = {};
  };

  // `timeout`: the initial time limit of an open.
  explicit OpenTimeouts(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  std::chrono::milliseconds full_timeout() const { return timeout_; }
  // Returns the time limit of the next open.
  std::chrono::milliseconds next_time_limit() const {
    return count_ < kMaxFullWaits ? timeout_ : timeout_ / 20;
  }
  // Returns whether a file that the process has mapped may be opened.
  bool may_open(const Target& target, const FileId& file) const;
  // Same for a file that is opened by path below the root of the process, or (process 0) below the
  // root of ctprof.
  bool may_open(const Target& target) const;

  // Records that opening this file timed out.
  void add(const Target& target, const FileId& file);
  void add(const Target& target);
  std::size_t count() const { return count_; }

 private:
  void add_user(const Target& target);
  void add_process(const Target& target);

  std::chrono::milliseconds timeout_;
  std::size_t count_ = 0;
  std::set<std::uint64_t> devices_, processes_;  // those with a timeout
  std::map<uid_t, std::size_t> users_;           // timeouts of each user
};

}  // namespace ctprof
