#include "plugins/taskstats/layout.hpp"

namespace ctprof::taskstats {
namespace {

constexpr std::uint16_t kInterleaved = 15;

struct Place {
  std::uint16_t since;
  std::uint16_t offset;
  std::uint16_t in_15;
};

// One line a field, in the order of Field.
constexpr std::array<Place, kFields> kPlaces{{
    {1, 16, 16},     // cpu
    {1, 24, 24},     //
    {15, 432, 32},   //
    {15, 440, 40},   //
    {1, 32, 48},     // blkio
    {1, 40, 56},     //
    {15, 448, 64},   //
    {15, 456, 72},   //
    {1, 48, 80},     // swapin
    {1, 56, 88},     //
    {15, 464, 96},   //
    {15, 472, 104},  //
    {1, 312, 360},   // freepages
    {1, 320, 368},   //
    {15, 480, 376},  //
    {15, 488, 384},  //
    {1, 328, 392},   // thrashing
    {1, 336, 400},   //
    {15, 496, 408},  //
    {15, 504, 416},  //
    {11, 352, 432},  // compact
    {11, 360, 440},  //
    {15, 512, 448},  //
    {15, 520, 456},  //
    {13, 400, 496},  // wpcopy
    {13, 408, 504},  //
    {15, 528, 512},  //
    {15, 536, 520},  //
    {14, 416, 528},  // irq
    {14, 424, 536},  //
    {15, 544, 544},  //
    {15, 552, 552},  //
    {1, 200, 248},   // hiwater_rss
    {1, 208, 256},   // hiwater_vm
    {1, 72, 120},    // cpu_run_virtual_total
    {1, 24, 24},     // cpu_delay_total
    {1, 16, 16},     // cpu_count
    {1, 272, 320},   // nvcsw
    {1, 280, 328},   // nivcsw
    {1, 168, 216},   // ac_minflt
    {1, 176, 224},   // ac_majflt
}};

}  // namespace

std::uint16_t since(Field field) { return kPlaces[index_of(field)].since; }

Layout::Layout(std::uint16_t version, std::size_t size) : version_(version), size_(size) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const Place& place = kPlaces[i];
    const std::uint16_t offset = version == kInterleaved ? place.in_15 : place.offset;
    const bool there = version >= place.since && offset + sizeof(std::uint64_t) <= size;
    offsets_[i] = there ? offset : kAbsent;
  }
}

}  // namespace ctprof::taskstats
