#include "plugins/taskstats/layout.hpp"

namespace ctprof::taskstats {
namespace {

constexpr std::uint16_t kInterleaved = 15;

}  // namespace

Layout::Layout(std::uint16_t version, std::size_t size) : version_(version), size_(size) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const FieldInfo& info = kFieldInfos[i];
    const std::uint16_t offset = version == kInterleaved ? info.offset_in_15 : info.offset;
    const bool there = version >= info.since && offset + sizeof(std::uint64_t) <= size;
    offsets_[i] = there ? offset : kAbsent;
  }
}

}  // namespace ctprof::taskstats
