// What stands in a ring, taken apart: records of the kernel's <linux/perf_event.h>, as events that
// event.cc opens have them.
//
// Nothing is trusted: a record that is shorter than what it says of itself is none. What is handed
// out points into the record.

#pragma once

#include <linux/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plugins/on-cpu/ring.hpp"
#include "plugins/shared/walk_tables.h"

namespace ctprof::on_cpu {

// Of <linux/perf_event.h>, newer than the headers that we are built with. A user chain that was put
// off until its thread goes back to user space; what stands for it in a sample, with a number
// behind it; and that the event wants all that.
inline constexpr std::uint32_t kRecordDeferred = 22;
inline constexpr std::uint64_t kContextUserDeferred = static_cast<std::uint64_t>(-640);
inline constexpr std::uint64_t kDeferBits = std::uint64_t{3} << 38;

// The registers that samples come with, by their numbers in the kernel's <asm/perf_regs.h>, in the
// order in which they come: by number.
#if defined(__x86_64__)
inline constexpr std::uint64_t kRegisters = 1u << 6 | 1u << 7 | 1u << 8;  // BP, SP, IP
#elif defined(__aarch64__)
inline constexpr std::uint64_t kRegisters = std::uint64_t{1} << 29 | std::uint64_t{1} << 30 |
                                            std::uint64_t{1} << 31 | std::uint64_t{1} << 32;
#else
#error "on-cpu knows the registers of x86-64 and of arm64"
#endif

struct Registers {
  std::uint64_t ip = 0, sp = 0, bp = 0, lr = 0;
};

// Whose time it was, and where it was spent.
struct Sample {
  std::uint32_t tgid = 0, tid = 0;                  // 0: the CPU was idle
  std::span<const std::uint64_t> kernel{}, user{};  // addresses, leaf first
  std::optional<std::uint64_t> deferred{};  // the number under which the user part will come
  std::optional<Registers> registers{};     // with `stack`; none of a kernel thread
  bool is_32_bit = false;                   // and its registers are of no use to us
  std::uint64_t weight_ns = 0;              // the time that it represents; the record has none
  std::span<const std::uint8_t> stack{};
  // Frames that a program in the kernel found instead, in words of CTPROF_USER_FRAMES; none: it
  // found none, and there is a copy.
  std::optional<std::span<const std::uint64_t>> walked{};
  bool is_deep = false;  // of these, some are missing at the root
};

// A file of which a program that walks has no table, where a stack led into it.
struct Missed {
  std::uint32_t tgid = 0;  // that has it mapped
  walk_miss miss{};
};

struct Deferred {
  std::uint32_t tid = 0;
  std::uint64_t number = 0;
  std::span<const std::uint64_t> user{};
};

struct Mapped {
  std::uint32_t tgid = 0;
  std::uint64_t start = 0, length = 0, offset = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::string_view path;
};

// Of PERF_RECORD_FORK and _EXIT.
struct Family {
  std::uint32_t tgid = 0, parent = 0, tid = 0;
};

// When the record was written, on the event's clock. REQUIRES: a record of a Ring.
std::uint64_t time_of(Bytes record);

// Nothing where the bytes are no such record. `copies`: samples come with registers and stack.
std::optional<Sample> sample_of(Bytes record, bool copies);
// Of PERF_RECORD_SAMPLE: nothing where it is a sample. REQUIRES: samples come with copies.
std::optional<Missed> missed_of(Bytes record);
std::optional<Deferred> deferred_of(Bytes record);
std::optional<Mapped> mapped_of(Bytes record);
std::optional<Family> family_of(Bytes record);
// Of PERF_RECORD_COMM: the process that runs another program from then on; 0: only the name
// changed.
std::uint32_t execed_of(Bytes record);
// Of PERF_RECORD_LOST: how many.
std::uint64_t lost_of(Bytes record);

}  // namespace ctprof::on_cpu
