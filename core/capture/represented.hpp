// How much of the time for which threads ran the samples of their stacks represent.
//
// A recorder that samples by a clock may miss threads that run in step with it, and loses samples
// where the hypervisor takes the CPU away. The scheduler's own account of run time shows that.

#pragma once

#include <cstdint>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct Represented {
  double sampled_ns = 0, ran_ns = 0;  // of rows of which both are known
  double samples = 0;                 // about
};

// `column`: filled stacks of threads, in ns, of `samples` samples that weigh `weight_ns` together.
// Run time is that of the metric with the role "run-time"; zero where the window has none.
// REQUIRES: `window` is one, and its columns are readings, not differences.
Represented represented(const Snapshot& window, const Column& column, std::uint64_t samples);

// Whether both differ by more than chance explains: samples at random moments vary by the root of
// their number.
bool differs(const Represented& represented);

// "samples represent 3.21 of 4.00 s run"; empty where they do not differ.
std::string in_words(const Represented& represented);

}  // namespace ctprof
