// Makes the window of an output plugin that requests rows of threads
// (ctprof_output::thread_metrics).

#pragma once

#include <span>
#include <string>

#include "core/output/output_window.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The window has one table with a row for each thread, and a column for each of the metrics that
// the capture contains and whose values are unsigned numbers. REQUIRES: a window already contains
// differences.
OutputWindow make_thread_window(const Snapshot& snapshot, std::span<const std::string> metrics);

}  // namespace ctprof
