#include "plugins/on-cpu/cpus.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"

namespace ctprof::on_cpu {
namespace {

constexpr int kMaxCpus = 8192;
// Number of fields of a CPU's line before the idle time: user, nice, system.
constexpr int kFieldsBeforeIdle = 3;

}  // namespace

std::vector<int> parse_cpu_list(std::string_view list) {
  std::vector<int> cpus;
  while (!list.empty()) {
    std::string_view range = sdk::take(list, ',');
    const auto first = sdk::number<int>(sdk::take(range, '-'));
    const auto last = range.empty() ? first : sdk::number<int>(range);
    if (!first || !last || first.value < 0 || last.value >= kMaxCpus) return {};
    for (int cpu = first.value; cpu <= last.value; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

PossibleCpus parse_possible_cpus(std::string_view list) {
  const std::vector<int> cpus = parse_cpu_list(sdk::trimmed(list));
  if (cpus.empty()) return {};
  return {cpus.size(), static_cast<std::size_t>(*std::ranges::max_element(cpus)) + 1};
}

PossibleCpus read_possible_cpus() {
  sdk::TextFile file;
  const auto text = file.read(AT_FDCWD, "/sys/devices/system/cpu/possible");
  const PossibleCpus listed = text ? parse_possible_cpus(text.value) : PossibleCpus{};
  if (listed.count > 0) return listed;
  const auto configured = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  return {configured, configured};
}

std::uint64_t parse_idle_ticks(std::string_view stat, int cpu) {
  const std::string key = "cpu" + std::to_string(cpu);
  while (!stat.empty()) {
    std::string_view line = sdk::take(stat, '\n');
    if (sdk::take(line, ' ') != key) continue;
    for (int i = 0; i < kFieldsBeforeIdle; ++i) sdk::take(line, ' ');
    const auto idle = sdk::number<std::uint64_t>(sdk::take(line, ' '));
    const auto iowait = sdk::number<std::uint64_t>(sdk::take(line, ' '));
    return idle && iowait ? idle.value + iowait.value : 0;
  }
  return 0;
}

std::uint64_t read_idle_ns(const sdk::Host& host, int cpu) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "stat");
  return text ? parse_idle_ticks(text.value, cpu) * ns_per_tick(host.user_hz()) : 0;
}

std::vector<int> read_online_cpus(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.sys(), "devices/system/cpu/online");
  return text ? parse_cpu_list(sdk::trimmed(text.value)) : std::vector<int>{};
}

}  // namespace ctprof::on_cpu
