// Reads jemalloc's two counters of many threads of one process, with one process_vm_readv(2).
//
// The threads run while their memory is read: stopping them longer would not make the values more
// accurate, because a counter is one aligned word that only grows. However, a thread may exit after
// its pointer was read, and a new thread may reuse its thread-local storage. Therefore the reader
// checks afterwards that each thread still exists.
//
// See also: heap_reader.cc checks that the process still runs the program for which the counters
// were found.

#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/thread_pointer_reader.hpp"

namespace ctprof::jemalloc {

// The bytes from the first counter of a pair to the end of the second.
struct Extent {
  std::uint64_t address;
  std::uint32_t size;
};

// Returns no value if that is not an address of user memory, or if the counters are further apart
// than members of one structure can be.
std::optional<Extent> find_extent(std::uint64_t pointer, const CounterPair& pair);

struct Reading {
  std::uint64_t allocated = 0;
  std::uint64_t deallocated = 0;
};

// Reuses its buffers. Each worker has one object.
class CounterReader {
 public:
  // Reads the counters of each tracee without a failure so far, all of one process, and adds up the
  // pairs; if that fails for a tracee, its outcome contains the reason. The result is as long as
  // `tracees`, and is valid until the next call.
  std::span<const Reading> read(std::span<Tracee> tracees, const Counters& counters);

 private:
  void add_pair(std::span<Tracee> tracees, const CounterPair& pair);
  void collect_requests(std::span<Tracee> tracees, const CounterPair& pair);
  static void set_final_outcome(Tracee& tracee, const Counters& counters);
  void read_all();
  long read_from(std::size_t first);

  std::vector<Tracee*> requested_;
  std::vector<iovec> remote_;
  std::vector<char> bytes_;
  std::vector<Reading> readings_;
};

}  // namespace ctprof::jemalloc
