// Determines where a process keeps jemalloc's two counters of each thread.
//
// jemalloc counts the bytes that a thread allocated and deallocated in thread-local storage.
// Without a debugger, the location is determined in three steps: which file of the process contains
// jemalloc (mappings.hpp, allocator_file.hpp), where the linker placed its thread-local storage
// (allocator_file.hpp), and where the counters are in it (tsd_code.hpp, debug_info.hpp,
// stripped_program.hpp). The result is valid for all threads of the process: both counters are at a
// fixed distance from the thread pointer.
//
// The verdict on a file is stored by device and inode, so a file that many processes share is read
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
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {

// Bytes from a thread's pointer (x86_64: fs base; aarch64: tpidr_el0) to each 64-bit counter of one
// jemalloc.
struct CounterPair {
  std::int64_t allocated;
  std::int64_t deallocated;
};

// The counters of every jemalloc in the process. Few processes have more than one, for example a
// preloaded library in a program with its own. A thread's values are the sums. `count` comes from
// another process, so it is not trusted.
struct Counters {
  static constexpr std::uint32_t kMaxPairs = 4;

  std::uint32_t count = 0;
  CounterPair pairs[kMaxPairs] = {};

  std::span<const CounterPair> valid_pairs() const {
    return {pairs, count < kMaxPairs ? count : kMaxPairs};
  }
  // Returns false if the array is full.
  bool add(const CounterPair& pair) {
    if (count >= kMaxPairs) return false;
    pairs[count++] = pair;
    return true;
  }
};

enum class Attach : std::uint8_t {
  Found,
  NotJemalloc,        // no file of the process contains jemalloc
  PidMissing,         // it exited before it was read
  ReadlinkFailure,    // it has no executable (a kernel thread, a zombie), or ctprof may not read it
  MapsReadFailure,    // its list of mappings could not be read
  ArchMismatch,       // code for another machine, or a 32-bit program
  DwarfParseFailure,  // it is jemalloc, and no source could locate the counters
  DynamicTls,  // jemalloc uses module numbers, because dlopen loaded it: each thread's counters may
               // be anywhere
  Unreadable,  // a file or the memory of the process could not be read
  TooCostly,   // EFBIG: a file exceeds the limit of one file; EBUSY: all files exceed the limit of
               // a capture
  NotAnswering,  // a file, or the memory of the process, was not read in time
  TooMany,       // more jemallocs than the capacity of Counters
};

struct FindResult {
  Attach attach;
  Counters counters;  // only for Found
  int error;          // errno of the failed call, or 0
};

// Returns the reference's name if it has one; "found" for Found.
const char* tag_of(Attach attach);

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
  // because all files whose code it maps were judged before. It costs a few queries to the kernel;
  // returns false if the kernel does not support them. Threads: like `find`.
  bool can_dismiss(int maps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctprof::jemalloc
