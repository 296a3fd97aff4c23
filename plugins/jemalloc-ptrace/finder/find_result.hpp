// The result of a search for the counters of jemalloc.

#pragma once

#include <cstdint>
#include <span>

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

// The outcome of a search for the counters of a process.
enum class FindStatus : std::uint8_t {
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
  FindStatus status;
  Counters counters;  // only for Found
  int error;          // errno of the failed call, or 0
};

}  // namespace ctprof::jemalloc
