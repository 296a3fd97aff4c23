// Decodes records in a ring: those of the kernel's <linux/perf_event.h>, in the form of the events
// that event.cc opens.
//
// Records are not trusted: a record that is shorter than its fields claim is invalid. Results point
// into the record.

#pragma once

#include <linux/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plugins/on-cpu/ring.hpp"
#include "plugins/shared/walk_tables.h"

namespace ctprof::on_cpu {

// Constants of <linux/perf_event.h> that are newer than the headers of the build: the type of a
// deferred user chain; the context word that precedes its number in a sample; and the flags of an
// event that requests deferred chains.
inline constexpr std::uint32_t kRecordDeferred = 22;
inline constexpr std::uint64_t kContextUserDeferred = static_cast<std::uint64_t>(-640);
inline constexpr std::uint64_t kDeferBits = std::uint64_t{3} << 38;

// The registers of samples, by their numbers in the kernel's <asm/perf_regs.h>. Samples contain
// them in the order of these numbers.
#if defined(__x86_64__)
inline constexpr std::uint64_t kRegisters =
    1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;  // DI, BP, SP, IP
#elif defined(__aarch64__)
inline constexpr std::uint64_t kRegisters = std::uint64_t{1} << 29 | std::uint64_t{1} << 30 |
                                            std::uint64_t{1} << 31 | std::uint64_t{1} << 32;
#else
#error "on-cpu knows the registers of x86-64 and of arm64"
#endif

// `lr` contains rdi on x86-64, where vfork(2) keeps its return address.
struct Registers {
  std::uint64_t ip = 0, sp = 0, bp = 0, lr = 0;
};

// A sample: a thread and its stack.
struct Sample {
  std::uint32_t tgid = 0, tid = 0;                  // 0: the CPU was idle
  std::span<const std::uint64_t> kernel{}, user{};  // addresses, leaf first
  std::optional<std::uint64_t> deferred{};          // the number of the user part that comes later
  std::optional<Registers> registers{};             // with `stack`; none for a kernel thread
  bool is_32_bit = false;                           // its registers are unusable
  std::uint64_t weight_ns = 0;  // the time that it represents; not in the record
  std::span<const std::uint8_t> stack{};
  // Frames that a program in the kernel found, encoded as CTPROF_USER_FRAMES; no value: there is a
  // copy instead.
  std::optional<std::span<const std::uint64_t>> walked_frames{};
  bool is_deep = false;  // frames are missing at their root
};

// A stack led into a file for which the walking program has no table.
struct MissingTable {
  std::uint32_t tgid = 0;  // the process that has mapped it
  walk_miss miss{};
};

struct DeferredChain {
  std::uint32_t tid = 0;
  std::uint64_t number = 0;
  std::span<const std::uint64_t> user{};
};

struct FileMapping {
  std::uint32_t tgid = 0;
  std::uint64_t start = 0, length = 0, offset = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::string_view path;
};

// The content of PERF_RECORD_FORK and _EXIT.
struct ForkOrExit {
  std::uint32_t tgid = 0, parent = 0, tid = 0;
};

// Returns when the record was written, on the event's clock. REQUIRES: a record of a Ring.
std::uint64_t read_time(Bytes record);

// Decode a record; no value if the bytes are not such a record. `has_copies`: samples contain
// registers and stack.
std::optional<Sample> parse_sample(Bytes record, bool has_copies);
// For PERF_RECORD_SAMPLE; no value if it is a real sample. REQUIRES: samples contain copies.
std::optional<MissingTable> parse_missed(Bytes record);
std::optional<DeferredChain> parse_deferred(Bytes record);
std::optional<FileMapping> parse_mapped(Bytes record);
std::optional<ForkOrExit> parse_family(Bytes record);
// For PERF_RECORD_COMM: returns the process that executed another program; 0: only the name
// changed.
std::uint32_t parse_exec(Bytes record);
// For PERF_RECORD_LOST: returns the number of lost records.
std::uint64_t parse_lost_count(Bytes record);

}  // namespace ctprof::on_cpu
