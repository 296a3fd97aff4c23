// Decodes netlink messages of the kernel: the request that an answer belongs to, and its struct
// taskstats or its error.
//
// All lengths are checked before use. The struct begins 4 bytes off an 8-byte boundary, so its
// fields are copied.
//
// The offset of each field depends on the version in the struct, and on the received length.
// Versions 1 to 14, 16 and 17 only appended fields. Version 15 inserted the longest and the
// shortest delay after each total, in the middle, and is as long as 16: only the version field
// distinguishes the two. An unknown version is read as 17, up to its length.
//
// See also: socket.hpp for sending and receiving, columns.hpp for the metric of each field.

#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"

namespace ctprof::taskstats {

using Bytes = std::span<const std::byte>;

// The answer to one request: an error, or the bytes of a struct.
struct Answer {
  std::uint32_t sequence = 0;
  std::uint32_t tid = 0;  // of the thread in the answer; 0 with an error
  // An errno; EBADMSG if the bytes are not a message, EMSGSIZE if the message is truncated.
  int error = 0;
  Bytes stats{};  // a view into the message
};

// Parses one datagram; `family` is the generic netlink number that answers must have.
Answer parse_answer(Bytes message, std::uint16_t family);

// Returns the error in an acknowledgement of a request: 0 or an errno. Returns no value if the
// message does not belong to that request.
std::optional<int> parse_acknowledgement(Bytes message, std::uint32_t sequence);

// The message that the kernel sends when a thread exits: the thread's struct and, for the last
// thread of a process, a second struct with the sum over all exited threads of the process.
struct Exit {
  std::uint32_t tid = 0;   // 0: not a message about an exit
  std::uint32_t tgid = 0;  // 0: not in the message
  Bytes stats{};           // the struct of the thread: a view into the message
};
Exit parse_exit(Bytes message, std::uint16_t family);

// The fields that are read. Those of one kind of delay are adjacent, the cpu kind first.
enum class Field : std::uint8_t {
  CpuCount,
  CpuTotal,
  CpuMax,
  CpuMin,
  BlkioCount,
  BlkioTotal,
  BlkioMax,
  BlkioMin,
  SwapinCount,
  SwapinTotal,
  SwapinMax,
  SwapinMin,
  FreepagesCount,
  FreepagesTotal,
  FreepagesMax,
  FreepagesMin,
  ThrashingCount,
  ThrashingTotal,
  ThrashingMax,
  ThrashingMin,
  CompactCount,
  CompactTotal,
  CompactMax,
  CompactMin,
  WpcopyCount,
  WpcopyTotal,
  WpcopyMax,
  WpcopyMin,
  IrqCount,
  IrqTotal,
  IrqMax,
  IrqMin,
  HiwaterRss,  // in KiB
  HiwaterVm,   // in KiB
  CpuRunVirtual,
  RunDelay,  // CpuTotal, as in schedstat
  Pcount,    // CpuCount, likewise
  VoluntaryCsw,
  InvoluntaryCsw,
  MinorFaults,
  MajorFaults,
  // Rounded down to multiples of 1,024 by the kernel: used only if there is no better source.
  ReadChars,
  WriteChars,
  ReadBytes,
  WriteBytes,
  CancelledWriteBytes,
};
inline constexpr std::size_t kFields = 46;
// The fields that are offered for living threads: all except the rounded ones.
inline constexpr std::size_t kExactFields = static_cast<std::size_t>(Field::ReadChars);

constexpr std::size_t index_of(Field field) { return static_cast<std::size_t>(field); }

// The kind of value of a field.
enum class ValueKind : std::uint8_t {
  Count,
  Time,     // in ns, cumulative
  Extreme,  // in ns, of one wait
  Peak,     // of memory, in KiB
  Bytes,    // cumulative
};

struct FieldInfo {
  Field field;
  ValueKind kind;
  std::uint16_t first_version;  // the version that introduced it; 1 for all versions before 10
  std::uint16_t offset;         // of its 64 bits, in all versions except 15
  std::uint16_t offset_in_15;
};

// One line per field, in the order of Field.
inline constexpr std::array<FieldInfo, kFields> kFieldInfos{{
    {Field::CpuCount, ValueKind::Count, 1, 16, 16},
    {Field::CpuTotal, ValueKind::Time, 1, 24, 24},
    {Field::CpuMax, ValueKind::Extreme, 15, 432, 32},
    {Field::CpuMin, ValueKind::Extreme, 15, 440, 40},
    {Field::BlkioCount, ValueKind::Count, 1, 32, 48},
    {Field::BlkioTotal, ValueKind::Time, 1, 40, 56},
    {Field::BlkioMax, ValueKind::Extreme, 15, 448, 64},
    {Field::BlkioMin, ValueKind::Extreme, 15, 456, 72},
    {Field::SwapinCount, ValueKind::Count, 1, 48, 80},
    {Field::SwapinTotal, ValueKind::Time, 1, 56, 88},
    {Field::SwapinMax, ValueKind::Extreme, 15, 464, 96},
    {Field::SwapinMin, ValueKind::Extreme, 15, 472, 104},
    {Field::FreepagesCount, ValueKind::Count, 1, 312, 360},
    {Field::FreepagesTotal, ValueKind::Time, 1, 320, 368},
    {Field::FreepagesMax, ValueKind::Extreme, 15, 480, 376},
    {Field::FreepagesMin, ValueKind::Extreme, 15, 488, 384},
    {Field::ThrashingCount, ValueKind::Count, 1, 328, 392},
    {Field::ThrashingTotal, ValueKind::Time, 1, 336, 400},
    {Field::ThrashingMax, ValueKind::Extreme, 15, 496, 408},
    {Field::ThrashingMin, ValueKind::Extreme, 15, 504, 416},
    {Field::CompactCount, ValueKind::Count, 11, 352, 432},
    {Field::CompactTotal, ValueKind::Time, 11, 360, 440},
    {Field::CompactMax, ValueKind::Extreme, 15, 512, 448},
    {Field::CompactMin, ValueKind::Extreme, 15, 520, 456},
    {Field::WpcopyCount, ValueKind::Count, 13, 400, 496},
    {Field::WpcopyTotal, ValueKind::Time, 13, 408, 504},
    {Field::WpcopyMax, ValueKind::Extreme, 15, 528, 512},
    {Field::WpcopyMin, ValueKind::Extreme, 15, 536, 520},
    {Field::IrqCount, ValueKind::Count, 14, 416, 528},
    {Field::IrqTotal, ValueKind::Time, 14, 424, 536},
    {Field::IrqMax, ValueKind::Extreme, 15, 544, 544},
    {Field::IrqMin, ValueKind::Extreme, 15, 552, 552},
    {Field::HiwaterRss, ValueKind::Peak, 1, 200, 248},
    {Field::HiwaterVm, ValueKind::Peak, 1, 208, 256},
    {Field::CpuRunVirtual, ValueKind::Time, 1, 72, 120},
    {Field::RunDelay, ValueKind::Time, 1, 24, 24},
    {Field::Pcount, ValueKind::Count, 1, 16, 16},
    {Field::VoluntaryCsw, ValueKind::Count, 1, 272, 320},
    {Field::InvoluntaryCsw, ValueKind::Count, 1, 280, 328},
    {Field::MinorFaults, ValueKind::Count, 1, 168, 216},
    {Field::MajorFaults, ValueKind::Count, 1, 176, 224},
    {Field::ReadChars, ValueKind::Bytes, 1, 216, 264},
    {Field::WriteChars, ValueKind::Bytes, 1, 224, 272},
    {Field::ReadBytes, ValueKind::Bytes, 1, 248, 296},
    {Field::WriteBytes, ValueKind::Bytes, 1, 256, 304},
    {Field::CancelledWriteBytes, ValueKind::Bytes, 1, 264, 312},
}};
static_assert(
    [] {
      for (std::size_t i = 0; i < kFields; ++i)
        if (index_of(kFieldInfos[i].field) != i) return false;
      return true;
    }(),
    "the lines are not in the order of Field");

// Each kind of delay has these values, in this order: count, total, max, min.
inline constexpr std::size_t kValuesPerDelayKind = 4;
inline constexpr std::size_t kFirstSwitchedField = static_cast<std::size_t>(Field::BlkioCount);
inline constexpr std::size_t kDelayFieldsEnd = static_cast<std::size_t>(Field::HiwaterRss);

constexpr std::uint16_t find_first_version(Field field) {
  return kFieldInfos[index_of(field)].first_version;
}

class Layout {
 public:
  static constexpr std::uint16_t kAbsent = UINT16_MAX;

  // `size` is the number of received bytes of the struct.
  Layout(std::uint16_t version, std::size_t size);

  // Returns the offset of the field's 64 bits, or kAbsent.
  std::uint16_t offset(Field field) const { return offsets_[index_of(field)]; }
  bool matches(std::uint16_t version, std::size_t size) const {
    return version == version_ && size == size_;
  }
  std::uint16_t version() const { return version_; }

 private:
  std::uint16_t version_;
  std::size_t size_;
  std::array<std::uint16_t, kFields> offsets_;
};

// Returns the version in a struct; 0 if the struct is too short to contain one.
std::uint16_t version_of(Bytes stats);

// Returns the field, or Unsupported if this version does not have it, or the struct ends before it.
sdk::Reading<std::uint64_t> read_field(Bytes stats, const Layout& layout, Field field);

// Returns the field as the value of a metric. High-water marks of a thread without address space (a
// kernel thread, or a zombie) are NotApplicable, because zero would mean that it had no memory.
sdk::Reading<std::uint64_t> read_metric(Bytes stats, const Layout& layout, Field field);

// The identity of the thread that a struct describes.
struct ThreadIdentity {
  std::string_view comm;     // a view into the struct
  std::uint64_t age_us = 0;  // time since it was created
  std::uint32_t parent = 0;  // the parent process of its process
  std::uint32_t tgid = 0;    // 0: the struct is older than version 12, which introduced it
};
// Returns no value if the struct is truncated.
std::optional<ThreadIdentity> parse_identity(Bytes stats);

// Returns the gap for the cells of the thread after an error.
constexpr Gap gap_of_answer(int error) {
  switch (error) {
    case EPERM: return Gap::Denied;
    case ESRCH: return Gap::ThreadGone;
    case EBADMSG: return Gap::Malformed;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case ETIMEDOUT: return Gap::Busy;
    default: return Gap::SourceFailed;
  }
}

// Returns whether to request the thread once more, alone: the answer was lost, or did not fit among
// others.
constexpr bool should_retry(int error) {
  return gap_of_answer(error) == Gap::Busy || error == EMSGSIZE;
}

}  // namespace ctprof::taskstats
