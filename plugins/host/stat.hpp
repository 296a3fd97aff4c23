// Parses /proc/stat: the times of the host's CPUs since boot, summed over all CPUs.
//
//   cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0
//   cpu0 5066076 145348 1542359 23414241 8341 0 12597 0 87814 0
//   intr 1462898 ...
//   ctxt 115315
//   processes 26442
//   procs_running 1
//   softirq 229245889 ...
//
// The struct also contains values of /proc/meminfo, /proc/loadavg and /sys/block/<disk>/stat.
//
// Times are in ticks of USER_HZ. The kernel also counts in ticks, unless it is configured to
// account for CPU time in nanoseconds.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/clock.hpp"
#include "ctprof/fields.hpp"
#include "ctprof/table.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::host {

// The states of the line "cpu", in its order.
enum CpuState {
  kUser,
  kNice,
  kSystem,
  kIdle,
  kIowait,
  kIrq,
  kSoftirq,
  kSteal,
  kGuest,
  kGuestNice,
  kCpuStates
};

struct Stat {
  // Unsupported where the kernel is older than the state.
  std::array<sdk::ReadingOf<sdk::ClockTicks>, kCpuStates> ticks;
  sdk::ReadingOf<sdk::GaugeCount> cpus = Gap::Unsupported;  // number of lines of single CPUs
  // Not from this file: the time when it was read, and the kernel configuration.
  sdk::ReadingOf<sdk::MonotonicNs> uptime = Gap::Unsupported;
  sdk::ReadingOf<sdk::Flag> irq_apart = Gap::Unsupported;
  sdk::ReadingOf<sdk::Flag> steal_apart = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> interrupts = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> softirqs = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> context_switches = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> forks = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeCount> running = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeCount> blocked = Gap::Unsupported;
  // From other files that are read with it.
  sdk::ReadingOf<sdk::Bytes> disk_read = Gap::Unsupported, disk_write = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> disk_busy = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeBytes> memory_available = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeF64> load = Gap::Unsupported;

  Stat() : ticks(make_ticks()) {}

 private:
  static std::array<sdk::ReadingOf<sdk::ClockTicks>, kCpuStates> make_ticks();
};

// Values whose line is missing remain Unsupported; those of a malformed line become Malformed.
Stat parse_stat(std::string_view text);

// Returns MemAvailable of /proc/meminfo, converted from KiB.
sdk::ReadingOf<sdk::GaugeBytes> parse_memory_available(std::string_view meminfo);
// Returns the first value of /proc/loadavg: "0.42 0.31 0.20 1/123 4567".
sdk::ReadingOf<sdk::GaugeF64> parse_load(std::string_view loadavg);

// Adds the values of /sys/block/<disk>/stat of one disk. A value that cannot be parsed makes the
// sum Malformed.
void add_disk(std::string_view text, Stat& stat);

// Returns the time in one state. REQUIRES: user_hz divides a second.
template <CpuState kState>
sdk::ReadingOf<sdk::MonotonicNs> ns(const Stat& stat, std::uint32_t user_hz) {
  const auto& ticks = stat.ticks[kState];
  if (!ticks) return ticks.gap;
  return ticks.value * ns_per_tick(user_hz);
}

using CpuTimes = sdk::Table<sdk::Fill<vocabulary::host_cpu_user_ns, ns<kUser>>,
                            sdk::Fill<vocabulary::host_cpu_nice_ns, ns<kNice>>,
                            sdk::Fill<vocabulary::host_cpu_system_ns, ns<kSystem>>,
                            sdk::Fill<vocabulary::host_cpu_idle_ns, ns<kIdle>>,
                            sdk::Fill<vocabulary::host_cpu_iowait_ns, ns<kIowait>>,
                            sdk::Fill<vocabulary::host_cpu_irq_ns, ns<kIrq>>,
                            sdk::Fill<vocabulary::host_cpu_softirq_ns, ns<kSoftirq>>,
                            sdk::Fill<vocabulary::host_cpu_steal_ns, ns<kSteal>>,
                            sdk::Fill<vocabulary::host_cpu_guest_ns, ns<kGuest>>,
                            sdk::Fill<vocabulary::host_cpu_guest_nice_ns, ns<kGuestNice>>>;
using AccountingInputs =
    sdk::Table<sdk::Fill<vocabulary::host_uptime_ns, &Stat::uptime>,
               sdk::Fill<vocabulary::host_cpu_online, &Stat::cpus>,
               sdk::Fill<vocabulary::host_cpu_irq_apart, &Stat::irq_apart>,
               sdk::Fill<vocabulary::host_cpu_steal_apart, &Stat::steal_apart>>;
using Events = sdk::Table<sdk::Fill<vocabulary::host_interrupts, &Stat::interrupts>,
                          sdk::Fill<vocabulary::host_softirqs, &Stat::softirqs>,
                          sdk::Fill<vocabulary::host_context_switches, &Stat::context_switches>,
                          sdk::Fill<vocabulary::host_forks, &Stat::forks>,
                          sdk::Fill<vocabulary::host_procs_running, &Stat::running>,
                          sdk::Fill<vocabulary::host_procs_blocked, &Stat::blocked>>;
using Disks = sdk::Table<sdk::Fill<vocabulary::host_disk_read_bytes, &Stat::disk_read>,
                         sdk::Fill<vocabulary::host_disk_write_bytes, &Stat::disk_write>,
                         sdk::Fill<vocabulary::host_disk_busy_ns, &Stat::disk_busy>>;
using MemoryAndLoad =
    sdk::Table<sdk::Fill<vocabulary::host_memory_available_bytes, &Stat::memory_available>,
               sdk::Fill<vocabulary::host_load_1min, &Stat::load>>;
using StatColumns = sdk::Groups<CpuTimes, AccountingInputs, Events, Disks, MemoryAndLoad>;

}  // namespace ctprof::host
