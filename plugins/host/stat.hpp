// /proc/stat: what the host's CPUs did since it booted, all of them together.
//
//   cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0
//   intr 1462898 ...
//   ctxt 115315
//   processes 26442
//   procs_running 1
//   softirq 229245889 ...
//
// Times are in ticks of USER_HZ, and stand in the kernel as ticks, too, unless it accounts for them
// by the nanosecond.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/shared/fields.hpp"
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
  std::array<sdk::Reading<std::uint64_t>, kCpuStates>
      ticks;  // Unsupported where the kernel is older than the state
  sdk::Reading<std::uint64_t> interrupts = Gap::Unsupported;
  sdk::Reading<std::uint64_t> softirqs = Gap::Unsupported;
  sdk::Reading<std::uint64_t> context_switches = Gap::Unsupported;
  sdk::Reading<std::uint64_t> forks = Gap::Unsupported;
  sdk::Reading<std::uint64_t> running = Gap::Unsupported;
  sdk::Reading<std::uint64_t> blocked = Gap::Unsupported;

  Stat() : ticks(make_ticks()) {}

 private:
  static std::array<sdk::Reading<std::uint64_t>, kCpuStates> make_ticks();
};

// A line that is not there leaves its figures Unsupported; one that cannot be understood makes them
// Malformed.
Stat parse_stat(std::string_view text);

using CpuTimes = Fields<vocabulary::host_cpu_user_ns, vocabulary::host_cpu_nice_ns,
                        vocabulary::host_cpu_system_ns, vocabulary::host_cpu_idle_ns,
                        vocabulary::host_cpu_iowait_ns, vocabulary::host_cpu_irq_ns,
                        vocabulary::host_cpu_softirq_ns, vocabulary::host_cpu_steal_ns,
                        vocabulary::host_cpu_guest_ns, vocabulary::host_cpu_guest_nice_ns>;
using Events = Fields<vocabulary::host_interrupts, vocabulary::host_softirqs,
                      vocabulary::host_context_switches, vocabulary::host_forks,
                      vocabulary::host_procs_running, vocabulary::host_procs_blocked>;

class StatColumns {
 public:
  static constexpr auto kOffers = joined(CpuTimes::kOffers, Events::kOffers);

  explicit StatColumns(const sdk::Batch& batch) : times_(batch), events_(batch) {}
  void put(std::uint32_t row, const Stat& stat, std::uint32_t user_hz);
  void fail(std::uint32_t row, Gap gap);

 private:
  CpuTimes times_;
  Events events_;
};

}  // namespace ctprof::host
