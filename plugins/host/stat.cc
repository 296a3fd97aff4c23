#include "plugins/host/stat.hpp"

#include "ctprof/files.hpp"

namespace ctprof::host {
namespace {

using Figure = sdk::Reading<std::uint64_t>;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

std::string_view word(std::string_view& line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  return sdk::take(line, ' ');
}

Figure number(std::string_view text) {
  const auto value = sdk::number<std::uint64_t>(text);
  return value ? Figure(value.value) : Figure(Gap::Malformed);
}

void parse_cpu(std::string_view line, Stat& stat) {
  for (Figure& ticks : stat.ticks)
    if (const std::string_view text = word(line); !text.empty()) ticks = number(text);
}

Figure ns(const Figure& ticks, std::uint32_t user_hz) {
  return ticks ? Figure(ticks.value * (kNsPerSecond / user_hz)) : ticks;
}

}  // namespace

std::array<Figure, kCpuStates> Stat::make_ticks() {
  constexpr Gap kNone = Gap::Unsupported;
  return {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
}

Stat parse_stat(std::string_view text) {
  Stat stat;
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    const std::string_view key = word(line);
    if (key == "cpu") parse_cpu(line, stat);
    if (key == "intr") stat.interrupts = number(word(line));
    if (key == "softirq") stat.softirqs = number(word(line));
    if (key == "ctxt") stat.context_switches = number(word(line));
    if (key == "processes") stat.forks = number(word(line));
    if (key == "procs_running") stat.running = number(word(line));
    if (key == "procs_blocked") stat.blocked = number(word(line));
  }
  return stat;
}

void StatColumns::put(std::uint32_t row, const Stat& stat, std::uint32_t user_hz) {
  const auto& t = stat.ticks;
  times_.put(row, ns(t[kUser], user_hz), ns(t[kNice], user_hz), ns(t[kSystem], user_hz),
             ns(t[kIdle], user_hz), ns(t[kIowait], user_hz), ns(t[kIrq], user_hz),
             ns(t[kSoftirq], user_hz), ns(t[kSteal], user_hz), ns(t[kGuest], user_hz),
             ns(t[kGuestNice], user_hz));
  events_.put(row, stat.interrupts, stat.softirqs, stat.context_switches, stat.forks, stat.running,
              stat.blocked);
}

void StatColumns::fail(std::uint32_t row, Gap gap) {
  times_.fail(row, gap);
  events_.fail(row, gap);
}

}  // namespace ctprof::host
