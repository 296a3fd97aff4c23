#include "core/compare/report/screen_weight.hpp"

#include <algorithm>
#include <cmath>

#include "core/compare/report/screen.hpp"

namespace ctprof {
namespace {

constexpr double kOneCpu = 100;  // percent

double total_of(const ScreenColumn& column) {
  return column.totals.empty() ? 0 : std::ranges::max(column.totals);
}

Weight weight_of_time(const ScreenColumn& column, const PlannedMetric& metric,
                      const Machine& machine) {
  const double whole =
      machine.cpus > 0 ? kOneCpu * machine.cpus : std::max(kOneCpu, total_of(column));
  const bool is_of_cpus = metric.role == "run-time" || metric.role == "wait-time";
  return {whole, is_of_cpus ? whole : std::min(kOneCpu, whole)};
}

Weight weight_of_memory(const ScreenColumn& column, const Machine& machine) {
  const double whole =
      machine.memory_bytes > 0 ? machine.memory_bytes : std::max(column.floor, total_of(column));
  return {whole, whole};
}

// Weights all bytes of the disks together like the time in which the disks were busy.
Weight weight_of_io(const Machine& machine) {
  if (machine.disk_bytes <= 0 || machine.disk_busy <= 0) return {};
  return {machine.disk_bytes / machine.disk_busy, machine.disk_bytes};
}

}  // namespace

Machine machine_of(std::span<const RunFacts> runs) {
  Machine machine;
  for (const RunFacts& run : runs) {
    if (!run.window) continue;
    const HostLoad& load = run.window->load;
    machine.cpus = std::max(machine.cpus, load.cpus.value_or(0));
    machine.memory_bytes = std::max(machine.memory_bytes, memory_of_host(run).value_or(0));
    machine.disk_bytes = std::max(machine.disk_bytes, load.disk_bytes.value_or(0));
    machine.disk_busy = std::max(machine.disk_busy, load.disk_busy.value_or(0));
  }
  return machine;
}

double Weight::share_of(double figure) const {
  if (whole <= 0) return 0;
  return std::min(std::abs(figure), most) / whole;
}

Weight weight_of(const ScreenColumn& column, const PlannedMetric& metric, const Machine& machine) {
  if (column.headline.by_change) return {};
  const bool is_bytes = metric.unit == "bytes";
  switch (column.headline.shown) {
    case CTPROF_SHOWN_PERCENT: return weight_of_time(column, metric, machine);
    case CTPROF_SHOWN_LEVEL: return is_bytes ? weight_of_memory(column, machine) : Weight{};
    default: return is_bytes ? weight_of_io(machine) : Weight{};
  }
}

}  // namespace ctprof
