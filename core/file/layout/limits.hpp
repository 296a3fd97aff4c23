// What a file may ask of its reader. A hostile file runs into one of these limits long before
// memory runs out.
//
// Real files stay far below: a thread is about 2.7 KiB of text, which mostly shrinks 6 to 60 times,
// and takes 1 KiB of memory.
//
// What is here:   the limits, and what is left of a file's share of memory (Budget) and work
// (Work), both in proportion to the text that was read.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/snapshot/pool.hpp"

namespace ctprof::limits {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

inline constexpr std::size_t kFileBytes = kGiB;      // compressed, as it lies on disk
inline constexpr std::size_t kFreeText = 64 * kMiB;  // text that any file may unfold to ...
inline constexpr std::size_t kExpansion =
    200;  // ... and for each of its bytes so much more: real ones come to some 120
inline constexpr int kWindowLog =
    27;  // of zstd: memory for as much text as frames may refer back to, 128 MiB
inline constexpr std::size_t kThreads = 4 * 1024 * 1024;  // the kernel's PID_MAX_LIMIT
inline constexpr std::size_t kCgroups = 1024 * 1024;      // rows of cgroup_stats
inline constexpr std::size_t kColumns = 4096;  // metrics in `registry`, and kinds of unknown keys
inline constexpr std::size_t kKeyBytes = 64 * kKiB;  // one key of an object; a cgroup path is one
inline constexpr std::size_t kTextBytes = kMiB;      // one string
inline constexpr std::size_t kItems =
    64 * kKiB;                             // entries of one map, items of one array, CPUs of a set
inline constexpr std::size_t kDepth = 32;  // objects and arrays inside each other
inline constexpr std::size_t kPathKeys = 8;  // keys from a row down to a metric
inline constexpr std::size_t kSectionBytes =
    64 * kMiB;  // one value that is kept as text, `gaps` for example
inline constexpr std::size_t kFreeMemory =
    256 * kMiB;  // what columns and pools of any file may take ...
inline constexpr std::size_t kMemoryPerByte =
    2;  // ... and for each byte of text read so far so much more ...
inline constexpr std::size_t kMemory = 2 * kGiB;  // ... up to this: about two million threads
inline constexpr std::size_t kPooledOverhead =
    64;  // what the pools' own tables take for each thing they hold
inline constexpr std::size_t kFreeWork =
    16 * kMiB;  // cells that `gaps` and `raw` of any file may set, one by one ...
inline constexpr std::size_t kWorkPerByte =
    2;  // ... and for each byte of its text so many more: real ones come to 0.2
inline constexpr std::size_t kObjectBytes =
    16 * kMiB;  // `ctprof` and `registry`, which are parsed whole: real ones have 200 KiB
inline constexpr std::size_t kMembers = 256;  // of such an object, and of a definition
inline constexpr std::size_t kNameBytes =
    4 * kKiB;                                  // a metric's name, section, unit, rule, place, each
inline constexpr std::size_t kSpellings = 64;  // of one metric's key
inline constexpr std::size_t kDerived = 1024;  // metrics that `registry` derives from others
inline constexpr std::size_t kLineBytes = 64 * kMiB;  // text of one line of a file in columns
inline constexpr std::size_t kLines = kMiB;           // of a file in columns
inline constexpr std::size_t kUnknownEntities = 64;   // kinds of rows that a reader does not know
inline constexpr std::size_t kKeptText =
    512 * kMiB;  // lines of a block that a reader does not know and keeps
inline constexpr std::size_t kRowBytes =
    2;  // text of a row at least: a line does not announce more rows than it has room for
inline constexpr std::size_t kSliceBytes =
    64 * kKiB;  // text handed from the decompressor to the parser at once

// How much text a file of `bytes` may unfold to. What we write keeps to it
// (padding in columns/lines.hpp).
constexpr std::size_t most_text(std::size_t bytes) { return kFreeText + kExpansion * bytes; }

}  // namespace ctprof::limits

namespace ctprof {

// What a file may use of memory.
struct Budget {
  const Pools* pools = nullptr;
  std::size_t text = 0;     // bytes of JSON so far
  std::size_t columns = 0;  // bytes that cells take
  std::size_t things = 0;   // that pools and kept keys hold, counted generously
  std::size_t kept = 0;     // bytes of kept JSON

  bool is_exceeded() const {
    const std::size_t used = columns + kept + pools->bytes() + things * limits::kPooledOverhead;
    return used > std::min(limits::kMemory, limits::kFreeMemory + limits::kMemoryPerByte * text);
  }
};

// What work may still be done with a file's text once it is read, in cells set and names looked up.
class Work {
 public:
  explicit Work(std::size_t text) : left_(limits::kFreeWork + limits::kWorkPerByte * text) {}
  // False when it is more than is left.
  bool spend(std::size_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
  }

 private:
  std::size_t left_;
};

}  // namespace ctprof
