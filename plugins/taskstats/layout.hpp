// Where the kernel's struct taskstats holds each figure: by the version that the struct states, and
// by how much of it there is.
//
// Versions 1 to 14, 16 and 17 only ever added to the end. Version 15 put the longest and the
// shortest delay behind each total, in the middle, and is as long as 16: the version field alone
// tells them apart. A version that we do not know is read as 17, as far as it reaches.
//
// What is here:   the table of fields, offsets.
// What is not:    reading them (decode.hpp), what they mean (plugins/vocabulary).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ctprof::taskstats {

// In the order of the metrics in columns.hpp.
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
  RunDelay,  // CpuTotal, as what schedstat calls it
  Pcount,    // CpuCount, likewise
  VoluntaryCsw,
  InvoluntaryCsw,
  MinorFaults,
  MajorFaults,
};
inline constexpr std::size_t kFields = 41;

constexpr std::size_t index_of(Field field) { return static_cast<std::size_t>(field); }

// Figures of the kinds of delay lie next to each other: count, total, max, min.
inline constexpr std::size_t kFiguresOfKind = 4;
inline constexpr std::size_t kFirstOtherKind = static_cast<std::size_t>(Field::BlkioCount);
inline constexpr std::size_t kPastKinds = static_cast<std::size_t>(Field::HiwaterRss);

// The version that brought the field; 1 for all that is older than version 10.
std::uint16_t since(Field field);

class Layout {
 public:
  static constexpr std::uint16_t kAbsent = UINT16_MAX;

  // Of a struct of which `size` bytes came.
  Layout(std::uint16_t version, std::size_t size);

  // Offset of the field's 64 bits, or kAbsent.
  std::uint16_t offset(Field field) const { return offsets_[index_of(field)]; }
  bool is_of(std::uint16_t version, std::size_t size) const {
    return version == version_ && size == size_;
  }
  std::uint16_t version() const { return version_; }

 private:
  std::uint16_t version_;
  std::size_t size_;
  std::array<std::uint16_t, kFields> offsets_;
};

}  // namespace ctprof::taskstats
