// Limits the memory, work and output that one input file can cause. A hostile file exceeds one of
// these limits long before the memory of the host is exhausted.
//
// Real files stay far below: a thread takes about 2.7 KiB of text, which usually compresses 6 to 60
// times, and 1 KiB of memory.
//
// Contents: the limits, and the remaining share of memory (Budget) and work (Work), both in
// proportion to the text that was read.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/json_scanner.hpp"
#include "core/snapshot/pool.hpp"

namespace ctprof::limits {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

inline constexpr std::size_t kFileBytes = kGiB;      // compressed size on disk
inline constexpr std::size_t kBaseText = 64 * kMiB;  // text that any file may decompress to ...
// ... plus this much per byte of the file: real ones have about 120.
inline constexpr std::size_t kTextPerByte = 200;
// Base-2 logarithm of the zstd window, the memory for text that frames may refer back to: 128 MiB.
inline constexpr int kWindowLog = 27;
inline constexpr std::size_t kThreads = 4 * 1024 * 1024;  // the kernel's PID_MAX_LIMIT
inline constexpr std::size_t kCgroups = 1024 * 1024;      // rows of cgroup_stats
inline constexpr std::size_t kColumns = 4096;  // metrics in `registry`, and kinds of unknown keys
inline constexpr std::size_t kKeyBytes = 64 * kKiB;  // one key of an object; a cgroup path is one
inline constexpr std::size_t kTextBytes = kMiB;      // one string
// Entries of one map, items of one array, CPUs of a set.
inline constexpr std::size_t kItems = 64 * kKiB;
inline constexpr std::size_t kDepth = kMaxJsonDepth;
inline constexpr std::size_t kPathKeys = 8;  // keys from a row down to a metric
// One value that is kept as text, such as `gaps`.
inline constexpr std::size_t kSectionBytes = 64 * kMiB;
// Memory for columns and pools of any file ...
inline constexpr std::size_t kBaseMemory = 256 * kMiB;
// ... plus this much per byte of text read so far ...
inline constexpr std::size_t kMemoryPerByte = 2;
// ... up to this, which is enough for about two million threads.
inline constexpr std::size_t kMemory = 2 * kGiB;
inline constexpr std::size_t kPooledOverhead = 64;  // memory of the pools' tables per item
// Cells that `gaps` and `raw` of any file may set individually ...
inline constexpr std::size_t kBaseWork = 16 * kMiB;
// ... plus this many per byte of text: real ones have 0.2.
inline constexpr std::size_t kWorkPerByte = 2;
// `ctprof` and `registry`, which are parsed whole: real ones have 200 KiB.
inline constexpr std::size_t kObjectBytes = 16 * kMiB;
inline constexpr std::size_t kMembers = 256;  // members of such an object or of a definition
// Each of a metric's name, section, unit, rule and key path.
inline constexpr std::size_t kNameBytes = 4 * kKiB;
inline constexpr std::size_t kSpellings = 64;         // alternative spellings of one metric's key
inline constexpr std::size_t kDerived = 1024;         // derived metrics in `registry`
inline constexpr std::size_t kLineBytes = 64 * kMiB;  // text of one line of a columns file
inline constexpr std::size_t kLines = kMiB;           // lines of a columns file
inline constexpr std::size_t kUnknownEntities = 64;   // entities that a reader does not know
// Kept lines of a block that a reader does not know.
inline constexpr std::size_t kKeptText = 512 * kMiB;
// Minimum text of a row, which limits the rows that a line can announce.
inline constexpr std::size_t kRowBytes = 2;
// Text that the decompressor passes to the parser at a time.
inline constexpr std::size_t kSliceBytes = 64 * kKiB;

// Returns how much text a file of `bytes` may decompress to. Our writers comply with it
// (make_padding() in columns/compressed_lines.hpp).
constexpr std::size_t max_text_bytes(std::size_t bytes) { return kBaseText + kTextPerByte * bytes; }

}  // namespace ctprof::limits

namespace ctprof {

// The memory that reading a file has used, and whether that is too much for its size.
struct MemoryBudget {
  const Pools* pools = nullptr;
  std::size_t text_bytes = 0;    // bytes of JSON read so far
  std::size_t column_bytes = 0;  // bytes of cells
  std::size_t items = 0;         // items in pools and kept keys, estimated generously
  std::size_t kept_bytes = 0;    // bytes of kept JSON

  bool is_exceeded() const {
    const std::size_t used =
        column_bytes + kept_bytes + pools->bytes() + items * limits::kPooledOverhead;
    return used >
           std::min(limits::kMemory, limits::kBaseMemory + limits::kMemoryPerByte * text_bytes);
  }
};

// The remaining work for a file's text after it is read: cells that are set, and names that are
// looked up.
class WorkBudget {
 public:
  explicit WorkBudget(std::size_t text)
      : remaining_(limits::kBaseWork + limits::kWorkPerByte * text) {}
  // Returns false if less than `steps` is left.
  bool spend(std::size_t steps) {
    if (steps > remaining_) return false;
    remaining_ -= steps;
    return true;
  }

 private:
  std::size_t remaining_;
};

}  // namespace ctprof
