// cpu: the time of each CPU by state, and its frequency.
//
// Sources: the lines "cpuN" of /proc/stat, ten numbers in clock ticks; for the frequency
// /sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq in kHz, where a driver provides it. The
// rows are the CPUs that are online.

#include <array>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "ctprof/plugin.hpp"

namespace ctprof::cpu {
namespace {

constexpr const char* kFile = "stat";
constexpr const char* kPath = "/proc/stat:cpuN";

template <class N, class R>
using CpuMetric = sdk::EntityMetric<N, R>;
using Ticks = CpuMetric<sdk::ClockTicks, sdk::SumTicks>;

constexpr CpuMetric<sdk::IdU32, sdk::Key> kNumber{
    {.name = "cpu.number", .source = kPath, .description = "Number of the CPU."}};
constexpr Ticks kUser{{.name = "cpu_user_ticks",
                       .source = kPath,
                       .description = "Time in programs, including guests.",
                       .caveat = "Counted by ticks unless the kernel measures it exactly."}};
constexpr Ticks kNice{{.name = "cpu_nice_ticks",
                       .source = kPath,
                       .description = "Time in programs with a positive nice value."}};
constexpr Ticks kSystem{
    {.name = "cpu_system_ticks", .source = kPath, .description = "Time in the kernel."}};
constexpr Ticks kIdle{{.name = "cpu_idle_ticks", .source = kPath, .description = "Idle time."}};
constexpr Ticks kIowait{{.name = "cpu_iowait_ticks",
                         .source = kPath,
                         .description = "Idle time with a thread that waits for storage.",
                         .caveat = "The thread may wait on another CPU; it can decrease."}};
constexpr Ticks kIrq{
    {.name = "cpu_irq_ticks", .source = kPath, .description = "Time in interrupts."}};
constexpr Ticks kSoftirq{
    {.name = "cpu_softirq_ticks", .source = kPath, .description = "Time in softirqs."}};
constexpr Ticks kSteal{{.name = "cpu_steal_ticks",
                        .source = kPath,
                        .description = "Time in which the hypervisor ran something else."}};
constexpr CpuMetric<sdk::GaugeCount, sdk::MaxGaugeCount> kFrequency{
    {.name = "cpu_frequency_khz",
     .unit = "kHz",
     .source = "/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq",
     .description = "Frequency of the CPU now.",
     .caveat = "Some drivers report the requested frequency."}};

constexpr std::array kDerived{ctprof_derived{
    .size = sizeof(ctprof_derived),
    .entity = CTPROF_ENTITY_OF_SOURCE,
    .name = "cpu_busy_ratio",
    .expression = "(cpu_user_ticks + cpu_nice_ticks + cpu_system_ticks + cpu_irq_ticks + "
                  "cpu_softirq_ticks + cpu_steal_ticks) / (cpu_user_ticks + cpu_nice_ticks + "
                  "cpu_system_ticks + cpu_irq_ticks + cpu_softirq_ticks + cpu_steal_ticks + "
                  "cpu_idle_ticks + cpu_iowait_ticks)",
    .unit = "ratio",
    .description = "Share of the time in which the CPU was not idle."}};

constexpr auto kCpu = sdk::entity("cpu", "A CPU that is online.", sdk::array_of(kDerived));

using Columns = sdk::Fields<kNumber, kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal>;
constexpr std::size_t kStates = 8;

class Cpus final : public sdk::EntityListSource<kCpu> {
 public:
  static constexpr const char* kName = "stat";
  static constexpr auto kOffers = Columns::kOffers;

  explicit Cpus(const sdk::Host& host) : host_(host) {}

  void list(const sdk::Listing& listing) {
    const auto text = file_.read_records(host_.proc(), kFile);
    if (!text) throw std::runtime_error("/proc/stat cannot be read");
    sdk::ListedRows<Columns> rows(listing);
    for (std::string_view lines = text.value; !lines.empty();) {
      std::string_view line = sdk::take(lines, '\n');
      std::string_view name = sdk::take(line, ' ');
      if (!name.starts_with("cpu") || name == "cpu") continue;
      name.remove_prefix(3);
      if (!rows.add()) break;
      put(rows, sdk::number<std::uint32_t>(name), line);
    }
    rows.commit();
  }

 private:
  static void put(sdk::ListedRows<Columns>& rows, const sdk::Reading<std::uint32_t>& number,
                  std::string_view line) {
    std::vector<sdk::Reading<std::uint64_t>> at(kStates, Gap::Malformed);
    for (auto& ticks : at) ticks = sdk::number<std::uint64_t>(sdk::take(line, ' '));
    rows.columns().put(rows.row(), number, at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

class Frequencies final : public sdk::EntitySource<kCpu> {
 public:
  static constexpr const char* kName = "cpufreq";
  static constexpr auto kOffers = sdk::offers(kFrequency);
  static constexpr auto kReads = sdk::reads(kNumber);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    if (!sdk::TextFile().read(host.sys(), "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"))
      probe.refuse_all(Gap::Unsupported, "no driver of this host reports the frequency of CPUs");
  }

  explicit Frequencies(const sdk::Host& host) : host_(host) {}

  void collect(const sdk::Batch& batch) {
    auto frequency = batch.column(kFrequency);
    const auto numbers = batch.input(kNumber);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      frequency.put(row, read(numbers.at(row)));
  }

 private:
  template <class Number>
  sdk::Reading<std::uint64_t> read(const Number& number) {
    if (!number) return number.gap;
    char path[80];
    std::snprintf(path, sizeof path, "devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
                  static_cast<unsigned>(number.value));
    const auto text = file_.read(host_.sys(), path);
    if (!text) return text.gap == Gap::ThreadGone ? Gap::Unsupported : text.gap;
    return sdk::number<std::uint64_t>(sdk::trimmed(text.value));
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace
}  // namespace ctprof::cpu

CTPROF_PLUGIN("cpu", "1.0", "Time of each CPU by state, and its frequency.", ctprof::cpu::Cpus,
              ctprof::cpu::Frequencies)
