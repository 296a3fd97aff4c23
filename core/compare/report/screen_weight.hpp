// The weight of a column of the first screen: which share of the machine a figure is.
//
//   time on CPUs, or waiting for one    of the CPUs' time
//   other time, as blocked on a disk    of the CPUs' time too, but a group counts at most once per
//                                       second: a hundred threads can wait for one disk
//   memory                              of the host's memory
//   bytes read or written               of what the host's disks read and wrote, times the share of
//                                       time in which they were busy
//   counts, and headlines by change     none: what they cost is in the time on CPUs
//
// Where the size of the machine is unknown, what all groups together have takes its place. I/O has
// no weight then.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"

namespace ctprof {

struct ScreenColumn;

// What the hosts of some runs have, the largest of each; 0 where it is unknown.
struct Machine {
  double cpus = 0;
  double memory_bytes = 0;
  double disk_bytes = 0;  // per second
  double disk_busy = 0;   // share of time
};

Machine machine_of(std::span<const RunFacts> runs);

struct Weight {
  double whole = 0;  // what the machine has, in the figures' unit; 0: the column has no weight
  double most = 0;   // that counts of a figure

  // At most 1; NaN of NaN.
  double share_of(double figure) const;
};

// REQUIRES: the column's totals are known.
Weight weight_of(const ScreenColumn& column, const PlannedMetric& metric, const Machine& machine);

}  // namespace ctprof
