#include "plugins/host/stat.hpp"

#include <charconv>

#include "ctprof/files.hpp"

namespace ctprof::host {
namespace {

std::string_view word(std::string_view& line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  return sdk::take(line, ' ');
}

sdk::Reading<std::uint64_t> number(std::string_view text) {
  return sdk::number<std::uint64_t>(text);
}

// Indices of fields in /sys/block/<disk>/stat (Documentation/block/stat.rst).
enum DiskField { kReadSectors = 2, kWriteSectors = 6, kIoTicks = 9, kDiskFields = 10 };
constexpr std::uint64_t kSector = 512, kNsPerMs = 1'000'000, kKib = 1024;

// Adds a value to a sum. The first disk turns an Unsupported sum into a value.
template <class Sum>
void add(Sum& sum, const sdk::Reading<std::uint64_t>& reading, std::uint64_t unit) {
  if (!reading || (!sum && sum.gap != Gap::Unsupported)) {
    sum = reading ? sum.gap : reading.gap;
    return;
  }
  sum = (sum ? std::uint64_t{sum.value} : 0) + reading.value * unit;
}

void parse_cpu(std::string_view line, Stat& stat) {
  for (auto& ticks : stat.ticks)
    if (const std::string_view text = word(line); !text.empty()) ticks = number(text);
}

}  // namespace

std::array<sdk::ReadingOf<sdk::ClockTicks>, kCpuStates> Stat::make_ticks() {
  constexpr Gap kNone = Gap::Unsupported;
  return {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
}

Stat parse_stat(std::string_view text) {
  Stat stat;
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    const std::string_view key = word(line);
    if (key == "cpu")
      parse_cpu(line, stat);
    else if (key.starts_with("cpu"))
      stat.cpus = (stat.cpus ? std::uint64_t{stat.cpus.value} : 0) + 1;
    if (key == "intr") stat.interrupts = number(word(line));
    if (key == "softirq") stat.softirqs = number(word(line));
    if (key == "ctxt") stat.context_switches = number(word(line));
    if (key == "processes") stat.forks = number(word(line));
    if (key == "procs_running") stat.running = number(word(line));
    if (key == "procs_blocked") stat.blocked = number(word(line));
  }
  return stat;
}

void add_disk(std::string_view text, Stat& stat) {
  std::string_view line = sdk::take(text, '\n');
  for (int field = 0; field < kDiskFields; ++field) {
    const auto field_value = number(word(line));
    if (field == kReadSectors) add(stat.disk_read, field_value, kSector);
    if (field == kWriteSectors) add(stat.disk_write, field_value, kSector);
    if (field == kIoTicks) add(stat.disk_busy, field_value, kNsPerMs);
  }
}

sdk::ReadingOf<sdk::GaugeBytes> parse_memory_available(std::string_view meminfo) {
  const auto value = sdk::value_of(meminfo, "MemAvailable");
  if (!value) return Gap::Unsupported;
  std::string_view digits = value.value;
  const auto kib = number(sdk::take(digits, ' '));
  if (!kib) return kib.gap;
  return kib.value * kKib;
}

sdk::ReadingOf<sdk::GaugeF64> parse_load(std::string_view loadavg) {
  const std::string_view first = word(loadavg);
  double load = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), load);
  if (error != std::errc{} || end != first.data() + first.size() || !(load >= 0))
    return Gap::Malformed;
  return load;
}

}  // namespace ctprof::host
