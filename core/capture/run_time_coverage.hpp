// Computes which part of the run time of threads is represented by the samples of their stacks.
//
// A recorder that samples by a clock can miss threads that run in step with it, and loses samples
// while the hypervisor steals the CPU. The comparison with the scheduler's run time shows this.

#pragma once

#include <cstdint>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct RunTimeCoverage {
  double sampled_ns = 0, run_ns = 0;  // of rows where both are known
  double samples = 0;                 // approximate number of samples
};

// `column`: filled stacks of threads, weighted in ns; `samples`: their number over all rows. Run
// time is the metric with the role "run-time"; zero if the window lacks it. REQUIRES: `window` is a
// window, and its columns are readings, not differences.
RunTimeCoverage compute_run_time_coverage(const Snapshot& window, const Column& column,
                                          std::uint64_t samples);

// Returns whether both differ by more than chance explains: the number of random samples varies by
// its square root.
bool differs_significantly(const RunTimeCoverage& coverage);

// Returns "samples represent 3.21 of 4.00 s of run time"; empty if they do not differ.
std::string describe_coverage(const RunTimeCoverage& coverage);

}  // namespace ctprof
