#include "plugins/disk/diskstats.hpp"

#include <cstdint>
#include <limits>

#include "ctprof/files.hpp"

namespace ctprof::disk {
namespace {

constexpr std::uint64_t kSectorBytes = 512, kNsPerMs = 1'000'000;
constexpr std::size_t kNumbers = 17;
using Numbers = std::vector<sdk::Reading<std::uint64_t>>;

std::string_view take_word(std::string_view& line) {
  line = sdk::bare(line);
  return sdk::take(line, ' ');
}

sdk::Reading<std::uint64_t> scaled(const sdk::Reading<std::uint64_t>& number, std::uint64_t unit) {
  if (!number) return number.gap;
  if (number.value > std::numeric_limits<std::uint64_t>::max() / unit) return Gap::Malformed;
  return number.value * unit;
}

Diskstats make_diskstats(std::string_view device, const Numbers& at) {
  Diskstats disk;
  disk.device = device;
  disk.reads = at[0];
  disk.read_bytes = scaled(at[2], kSectorBytes);
  disk.read_time = scaled(at[3], kNsPerMs);
  disk.writes = at[4];
  disk.written_bytes = scaled(at[6], kSectorBytes);
  disk.write_time = scaled(at[7], kNsPerMs);
  disk.in_flight = at[8];
  disk.busy_time = scaled(at[9], kNsPerMs);
  disk.queue_time = scaled(at[10], kNsPerMs);
  disk.discards = at[11];
  disk.flushes = at[15];
  disk.flush_time = scaled(at[16], kNsPerMs);
  return disk;
}

}  // namespace

bool Diskstats::was_used() const {
  const auto counts = [](const auto& number) {
    return number ? number.value > 0 : number.gap == Gap::Malformed;
  };
  return counts(reads) || counts(writes) || counts(discards) || counts(flushes) ||
         counts(in_flight);
}

std::vector<Diskstats> parse_diskstats(std::string_view text) {
  std::vector<Diskstats> disks;
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    take_word(line);  // major and minor number
    take_word(line);
    const std::string_view device = take_word(line);
    if (device.empty()) continue;
    Numbers numbers(kNumbers, Gap::Unsupported);
    for (auto& number : numbers)
      if (const std::string_view word = take_word(line); !word.empty())
        number = sdk::number<std::uint64_t>(word);
    disks.push_back(make_diskstats(device, numbers));
  }
  return disks;
}

}  // namespace ctprof::disk
