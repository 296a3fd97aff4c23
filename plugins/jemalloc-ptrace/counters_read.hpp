// jemalloc's two counters of many threads of one process, by one process_vm_readv(2).
//
// The threads run while their memory is read: stopping them any longer would not make the figures
// truer. A counter is one aligned word that only grows. What could go wrong is that a thread ends
// after its pointer was read, and a new one takes over its thread-local storage; hence each thread
// is asked afterwards whether it is still there.
//
// What is here:   addresses, reading, and that question.
// What is not:    whether the process still runs the program that the place was found for:
// heap_reader.cc.

#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/thread_pointers.hpp"

namespace ctprof::jemalloc {

// The bytes from the first of a pair's counters to the end of the second.
struct Extent {
  std::uint64_t address;
  std::uint32_t size;
};

// Nothing, where that is no address of user memory or the counters are further apart than those of
// one structure can be.
std::optional<Extent> extent_of(std::uint64_t pointer, const CounterPair& pair);

struct Reading {
  std::uint64_t allocated = 0;
  std::uint64_t deallocated = 0;
};

// Keeps its buffers. One per worker.
class CountersRead {
 public:
  // Reads for each tracee whose outcome is good so far, all of one process, and adds up the pairs;
  // where that fails for any of them, the outcome says so. The answer is as long as `tracees`, and
  // lives until the next call.
  std::span<const Reading> read(std::span<Tracee> tracees, const Counters& counters);

 private:
  void add(std::span<Tracee> tracees, const CounterPair& pair);
  void gather(std::span<Tracee> tracees, const CounterPair& pair);
  static void settle(Tracee& tracee, const Counters& counters);
  void fetch();
  long fetch_from(std::size_t first);

  std::vector<Tracee*> wanted_;
  std::vector<iovec> remote_;
  std::vector<char> bytes_;
  std::vector<Reading> readings_;
};

}  // namespace ctprof::jemalloc
