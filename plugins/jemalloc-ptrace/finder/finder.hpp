// Where a process keeps jemalloc's two counters of each thread.
//
// jemalloc counts the bytes that a thread allocated and deallocated in thread-local storage.
// Without a debugger's help the place is found in three steps: which file of the process is
// jemalloc (mappings.hpp, allocator_file.hpp), where the linker put its thread-local storage
// (allocator_file.hpp), and where the counters are in it (tsd_code.hpp, debug_info.hpp,
// stripped_program.hpp). The answer holds for all threads of the process: both counters are at a
// fixed distance from the thread pointer.
//
// The verdict on a file is kept by device and inode, so that a file which many processes share is
// looked at once. Nothing is assumed of foreign files: every read is bounds-checked, and a hostile
// file makes at most its own process fail.
//
// What is here:   the question and its answers.
// What is not:    thread pointers, reading the counters, telling the user.

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

// Of every jemalloc of the process. Few have more than one: a library that is preloaded, say, into
// a program that has its own. A thread's figures are the sums. It crosses to another process, so
// that the count is not believed.
struct Counters {
  static constexpr std::uint32_t kMost = 4;

  std::uint32_t count = 0;
  CounterPair pairs[kMost] = {};

  std::span<const CounterPair> all() const { return {pairs, count < kMost ? count : kMost}; }
  // False when there is no room.
  bool add(const CounterPair& pair) {
    if (count >= kMost) return false;
    pairs[count++] = pair;
    return true;
  }
};

enum class Attach : std::uint8_t {
  Found,
  NotJemalloc,        // no file of the process is one that carries jemalloc
  PidMissing,         // it ended before we looked
  ReadlinkFailure,    // it has no executable (a kernel thread, a zombie), or we may not see it
  MapsReadFailure,    // its list of mappings could not be read
  ArchMismatch,       // another machine's code, or a 32-bit program
  DwarfParseFailure,  // it is jemalloc, and no source knows where the counters are
  DynamicTls,  // jemalloc is reached by module number, as what dlopen loads: each thread's counters
               // may be anywhere
  Unreadable,  // a file or the memory of the process could not be read
  TooCostly,   // a file costs more to read than it may: EFBIG; or all of them more than a capture
               // may: EBUSY
  NotAnswering,  // a file, or the memory of the process, did not come within the time for it
  TooMany,       // more jemallocs than Counters holds
};

struct Found {
  Attach attach;
  Counters counters;  // of Found alone
  int error;          // errno of the failed call, 0 where none failed
};

// The reference's word where it has one; "found" for Found.
const char* tag(Attach attach);

class Finder {
 public:
  // `watch`, which outlives it, learns what may hang; what it does not allow is NotAnswering. Used
  // by one thread then. `now` is the clock of what files may cost.
  explicit Finder(const sdk::Host& host, Watch* watch = nullptr,
                  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now);
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // Threads may call at once.
  Found find(std::uint64_t tgid);
  // Whether `find` would say NotJemalloc of the process with these /proc/<pid>/maps, since all
  // files of which it has code were judged before. A few questions to the kernel; false where it
  // does not answer them. The same threads may call.
  bool dismisses(int maps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctprof::jemalloc
