// Determines where a process keeps jemalloc's two counters of each thread.
//
// jemalloc counts the bytes that a thread allocated and deallocated in thread-local storage.
// Without a debugger, the location is determined in three steps: which file of the process contains
// jemalloc (mappings.hpp, allocator_file.hpp), where the linker placed its thread-local storage
// (allocator_file.hpp), and where the counters are in it (tsd_code.hpp, debug_info.hpp,
// stripped_program.hpp). The result is valid for all threads of the process: both counters are at a
// fixed distance from the thread pointer.
//
// The result for a file is stored by device and inode, so a file that many processes share is read
// once. Foreign files are not trusted: every read is bounds-checked, and a hostile file makes at
// most its own process fail.
//
// Thread pointers, reading the counters and messages to the user are not part of the finder.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/finder/find_result.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {

// Returns the reference's name if it has one; "found" for Found.
const char* find_status_tag(FindStatus status);

class Finder {
 public:
  // `watch`, which outlives this object, is called before operations that may block; refused ones
  // yield NotAnswering. With a watch, only one thread may use this object. `now` is the clock of
  // the budgets.
  explicit Finder(const sdk::Host& host, AccessMonitor* watch = nullptr,
                  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now);
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // Threads: any, concurrently.
  FindResult find(std::uint64_t tgid);
  // Returns whether `find` would return NotJemalloc for the process with these /proc/<pid>/maps,
  // because all files whose code it maps were examined before. It costs a few queries to the
  // kernel; returns false if the kernel does not support them. Threads: like `find`.
  bool is_known_without_jemalloc(int maps_fd);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctprof::jemalloc
