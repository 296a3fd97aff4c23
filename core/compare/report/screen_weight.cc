#include "core/compare/report/screen_weight.hpp"

#include <algorithm>
#include <cmath>

namespace ctprof {
namespace {

constexpr double kOneCpu = 100;  // percent

double largest_total(std::span<const double> totals) {
  return totals.empty() ? 0 : std::ranges::max(totals);
}

ColumnWeight weight_of_time(std::span<const double> totals, const PlannedMetric& metric,
                            const MachineCapacity& machine) {
  const double capacity =
      machine.cpus > 0 ? kOneCpu * machine.cpus : std::max(kOneCpu, largest_total(totals));
  const bool is_of_cpus = metric.role == "run-time" || metric.role == "wait-time";
  return {capacity, is_of_cpus ? capacity : std::min(kOneCpu, capacity)};
}

ColumnWeight weight_of_memory(double floor, std::span<const double> totals,
                              const MachineCapacity& machine) {
  const double capacity =
      machine.memory_bytes > 0 ? machine.memory_bytes : std::max(floor, largest_total(totals));
  return {capacity, capacity};
}

// Weights all bytes of the disks together like the time in which the disks were busy.
ColumnWeight weight_of_io(const MachineCapacity& machine) {
  if (machine.disk_bytes <= 0 || machine.disk_busy <= 0) return {};
  return {machine.disk_bytes / machine.disk_busy, machine.disk_bytes};
}

}  // namespace

MachineCapacity find_machine_capacity(std::span<const RunFacts> runs) {
  MachineCapacity machine;
  for (const RunFacts& run : runs) {
    if (!run.window) continue;
    const HostLoad& load = run.window->load;
    machine.cpus = std::max(machine.cpus, load.cpus.value_or(0));
    machine.memory_bytes = std::max(machine.memory_bytes, host_memory_bytes(run).value_or(0));
    machine.disk_bytes = std::max(machine.disk_bytes, load.disk_bytes.value_or(0));
    machine.disk_busy = std::max(machine.disk_busy, load.disk_busy.value_or(0));
  }
  return machine;
}

double ColumnWeight::share_of(double figure) const {
  if (capacity <= 0) return 0;
  return std::min(std::abs(figure), max_value) / capacity;
}

ColumnWeight column_weight(const Headline& headline, double floor, std::span<const double> totals,
                           const PlannedMetric& metric, const MachineCapacity& machine) {
  if (headline.orders_by_change) return {};
  const bool is_bytes = metric.unit == "bytes";
  switch (headline.shown) {
    case CTPROF_SHOWN_PERCENT: return weight_of_time(totals, metric, machine);
    case CTPROF_SHOWN_LEVEL:
      return is_bytes ? weight_of_memory(floor, totals, machine) : ColumnWeight{};
    default: return is_bytes ? weight_of_io(machine) : ColumnWeight{};
  }
}

}  // namespace ctprof
