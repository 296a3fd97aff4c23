// Recording the tapes of each plugin on a running kernel.

#pragma once

#include <string>

#include "tests/recorded/tape.hpp"

namespace ctprof::recorded {

struct Places {
  std::string programs;  // where the workloads are: the build directory of tests/record
  std::string output;    // where the tapes are written
  std::string scratch;   // an empty directory for the workloads' files
};

// The kernel that was recorded.
void add_host_facts(TapeWriter& tape);

// Writes all tapes of the plugin. Throws where the kernel refuses the plugin.
void record_off_cpu(const Places& places);
void record_on_cpu(const Places& places);
// Of the scheduler, for the simulated kernel.
void record_sched(const Places& places);
void record_sleepers(const Places& places);
void record_task_iter(const Places& places);
void record_taskstats(const Places& places);

}  // namespace ctprof::recorded
