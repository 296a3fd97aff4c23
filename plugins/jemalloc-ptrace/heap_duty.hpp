// The helper's side of reading heaps: the memory that a heap reader and its helper process share,
// and what the helper does for each request in it.
//
// A request is written by the reader; the helper answers item by item, counts them in `done`, and
// says beforehand what it is about to touch. Neither side trusts sizes or numbers of the other: the
// helper reads hostile files, which may have taken it over.
//
// What is here:   the board; looking for jemalloc, reading counters, naming mounts, all of which
// may
//                 hang.
// What is not:    who asks, and what becomes of a helper that hangs: heap_helper.hpp.

#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"
#include "plugins/shared/helper_process.hpp"

namespace ctprof::jemalloc {

inline constexpr std::uint32_t kMostItems = CTPROF_MAX_ROWS;
inline constexpr std::uint32_t kMostAvoided = 16;
inline constexpr std::uint32_t kMostReleased = 2048;

// Programs that the helper watches have numbers, which the reader gives out; 0 is none.
using ProgramNumber = std::uint32_t;

struct FindItem {
  std::uint64_t tid = 0;      // of a living thread of the process
  ProgramNumber program = 0;  // to be kept under this number where jemalloc is found
  ProgramNumber known =
      0;  // when this one still runs, nothing is looked for, and `same` is the answer
  std::uint32_t has_few_threads = 0;  // so that all its mappings are looked through in no time
  // Answers.
  std::uint32_t same = 0;
  std::uint32_t attach = 0;
  std::int32_t error = 0;
  Counters counters{};
};

// A process whose threads are `count` of the board's from `first` on.
struct ReadItem {
  ProgramNumber program = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  Counters counters{};
  std::uint32_t adopt =
      0;  // another helper, which was lost, knew the program: this one is to hold it from now on
  // Answer, after reading.
  std::uint32_t still_runs = 0;
};

struct ReadThread {
  std::int32_t tgid = 0;
  std::int32_t tid = 0;
  std::uint64_t pointer = 0;
  // Answers: the step that failed, and the errno; or both figures.
  std::uint32_t failed = 0;
  std::int32_t error = 0;
  std::uint64_t allocated = 0;
  std::uint64_t deallocated = 0;
};

// Which mount a device is, as a process sees it.
struct NameItem {
  std::uint64_t tid = 0;
  std::uint64_t device = 0;  // 0: that of the file that is mapped at `address`
  std::uint64_t address = 0;
  // Answers.
  std::uint64_t named = 0;  // the device
  char place[256] = {};     // where it is mounted, as mountinfo has it; empty: not known
};

enum class Request : std::uint32_t { Find, Read, Name };

struct Board {
  Request request;
  std::uint32_t count;  // of items
  std::uint32_t avoided_count;
  std::uint32_t released_count;
  std::uint64_t avoided[kMostAvoided];  // devices that are not to be touched
  ProgramNumber released[kMostReleased];

  std::atomic<std::uint32_t> done;
  std::atomic<Operation> operation;
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint64_t> address;

  FindItem finds[kMostItems];
  ReadItem reads[kMostItems];
  ReadThread threads[kMostItems];
  NameItem name;
};

// For HelperProcess; the area is a Board.
HelperProcess::Serve begin_heap_duty(const HelperView& view);

}  // namespace ctprof::jemalloc
