// Records the traces of each plugin on the running kernel.

#pragma once

#include <string>

#include "tests/recorded/trace.hpp"

namespace ctprof::recorded {

struct RecordingDirectories {
  std::string programs;  // directory of the workloads: the build directory of tests/record
  std::string output;    // directory for the traces
  std::string scratch;   // an empty directory for files of the workloads
};

// Adds the kernel release and version.
void add_host_facts(TraceWriter& trace);

// Writes all traces of the plugin. Throws if the kernel refuses the plugin.
void record_off_cpu(const RecordingDirectories& directories);
void record_on_cpu(const RecordingDirectories& directories);
// Records scheduler events for the simulated kernel.
void record_sched(const RecordingDirectories& directories);
void record_sleepers(const RecordingDirectories& directories);
void record_task_iter(const RecordingDirectories& directories);
void record_taskstats(const RecordingDirectories& directories);

}  // namespace ctprof::recorded
