// Which files may still be waited for, after some were not opened in time.
//
// A file server may never answer, and a process can keep the kernel from looking at its own
// mappings (it holds their lock while it waits for such a server). So a file system that is on no
// disk of the host is not asked again after it was late once. A disk of the host always answers:
// if opening its file through a process was late, that process is not asked again, and other
// processes that have mapped the same disk lose nothing.
//
// All waiting together is bounded: after five late answers each further one may take a twentieth of
// the time, and after sixty of those nothing is opened any more.
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>

#include "core/stacks/address_space.hpp"

namespace ctprof {

class LateAnswers {
 public:
  static constexpr std::size_t kMostFull = 5, kMostShort = 60;

  // `patience`: how long an answer may take at first.
  explicit LateAnswers(std::chrono::milliseconds patience) : patience_(patience) {}

  std::chrono::milliseconds full_patience() const { return patience_; }
  // How long the next answer may take.
  std::chrono::milliseconds patience() const {
    return count_ < kMostFull ? patience_ : patience_ / 20;
  }
  // Whether a file that a process has mapped may be asked for.
  bool may_ask(std::uint64_t process, const FileId& file) const;
  // The same of a file that is found by a path below the root of the process, or (process 0) below
  // that of ctprof.
  bool may_ask(std::uint64_t process) const;

  // The answer about that file was late.
  void add(std::uint64_t process, const FileId& file);
  void add(std::uint64_t process);
  std::size_t count() const { return count_; }

 private:
  std::chrono::milliseconds patience_;
  std::size_t count_ = 0;
  std::set<std::uint64_t> devices_, processes_;  // that were late
};

}  // namespace ctprof
