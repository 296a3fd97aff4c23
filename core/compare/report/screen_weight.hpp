// The weight of a column of the first screen: converts a value to a share of the machine.
//
//   time on CPUs, or waiting for one    share of the CPUs' time
//   other time, such as blocked time    share of the CPUs' time; a group has at most one second per
//                                       second, because a hundred threads can wait for one disk
//   memory                              share of the host's memory
//   bytes read or written               share of the bytes that the host's disks read and wrote,
//                                       multiplied by the share of time in which they were busy
//   counts, and headlines by change     no weight: their cost is part of the time on CPUs
//
// If the size of the machine is unknown, the total over all groups replaces it, and I/O has no
// weight.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"

namespace ctprof {

// The capacity and load of the hosts of some runs: the largest value of all runs; 0 if unknown.
struct MachineCapacity {
  double cpus = 0;
  double memory_bytes = 0;
  double disk_bytes = 0;  // per second
  double disk_busy = 0;   // share of time
};

MachineCapacity find_machine_capacity(std::span<const RunFacts> runs);

struct ColumnWeight {
  double capacity = 0;   // the machine's capacity, in the unit of the values; 0: no weight
  double max_value = 0;  // the maximum that counts for one value

  // Returns at most 1; NaN for NaN.
  double share_of(double figure) const;
};

// REQUIRES: the totals of the column are known.
ColumnWeight column_weight(const Headline& headline, double floor, std::span<const double> totals,
                           const PlannedMetric& metric, const MachineCapacity& machine);

}  // namespace ctprof
