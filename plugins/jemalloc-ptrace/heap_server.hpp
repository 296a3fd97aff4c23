// The helper's side of reading heaps: the memory that a heap reader and its helper process share,
// and the function that the helper runs for each request in it.
//
// The reader writes a request. The helper answers item by item, counts the items in
// `answered_count`, and writes its next access before it starts. Neither side trusts sizes or
// numbers of the other, because the helper reads hostile files, which may have taken it over.
//
// Contents: the shared area, and operations that may block: finding jemalloc, reading counters,
// naming mounts.
// See also: heap_helper.hpp for the requests and for helpers that block.

#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::jemalloc {

inline constexpr std::uint32_t kMaxItems = CTPROF_MAX_ROWS;
inline constexpr std::uint32_t kMaxAvoidedDevices = 16;
inline constexpr std::uint32_t kMaxReleased = 2048;

// The reader assigns numbers to the programs that the helper watches; 0 is none.
using ProgramNumber = std::uint32_t;

struct FindItem {
  std::uint64_t tid = 0;      // of a living thread of the process
  ProgramNumber program = 0;  // stored under this number if jemalloc is found
  // If this program still runs, nothing is searched, and `is_same_program` is the answer.
  ProgramNumber known_program = 0;
  std::uint32_t has_few_threads = 0;  // so all of its mappings can be searched quickly
  // Answers.
  std::uint32_t is_same_program = 0;
  std::uint32_t status = 0;
  std::int32_t error = 0;
  Counters counters{};
};

// A process whose threads are the `count` threads of the shared area starting at `first`.
struct ReadItem {
  ProgramNumber program = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  Counters counters{};
  // An earlier helper knew the program: this one must open it now.
  std::uint32_t must_open_program = 0;
  // Answer, after reading.
  std::uint32_t is_still_running = 0;
};

struct ReadThread {
  std::int32_t tgid = 0;
  std::int32_t tid = 0;
  std::uint64_t pointer = 0;
  // Answers: the step that failed, and the errno; or both values.
  std::uint32_t failed_step = 0;
  std::int32_t error = 0;
  std::uint64_t allocated = 0;
  std::uint64_t deallocated = 0;
};

// The mount of a device, in the view of a process.
struct NameItem {
  std::uint64_t tid = 0;
  std::uint64_t device = 0;  // 0: that of the file that is mapped at `address`
  std::uint64_t address = 0;
  // Answers.
  std::uint64_t found_device = 0;  // the device
  char mount_point[256] = {};      // mount point in the form of mountinfo; empty: unknown
};

enum class Request : std::uint32_t { Find, Read, Name };

struct SharedArea {
  Request request;
  std::uint32_t count;  // number of items
  std::uint32_t avoided_count;
  std::uint32_t released_count;
  std::uint64_t avoided_devices[kMaxAvoidedDevices];  // devices that must not be accessed
  ProgramNumber released[kMaxReleased];

  std::atomic<std::uint32_t> answered_count;
  std::atomic<Operation> operation;
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint64_t> address;

  FindItem finds[kMaxItems];
  ReadItem reads[kMaxItems];
  ReadThread threads[kMaxItems];
  NameItem name;
};

// Starts the server in a HelperProcess whose area is a SharedArea.
HelperProcess::RequestHandler start_heap_server(const HelperContext& view);

}  // namespace ctprof::jemalloc
