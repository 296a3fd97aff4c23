#include "plugins/host/stat.hpp"

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

}  // namespace ctprof::host
