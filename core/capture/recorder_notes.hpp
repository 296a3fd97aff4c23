// Describes the work of a recorder in a window, in one line for the user.
//
//   on-cpu: 1986 stacks, 99.7% reach the root (6 not unwound); 123.4 ms of CPU time, 45.6 MiB
//
// Zero counts are omitted.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/capture/active_recorders.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/snapshot/stack_names.hpp"

namespace ctprof {

// Returns the number of stacks, losses with their places, and the cost. `tally`: results of
// unwinding, for stacks inside the window; and the number of all records without a row.
// `coverage_text`: a description of the run time that the samples represent; empty: they represent
// all run time.
std::string describe_recorder(const RecorderResult& recorded, const StackTally& tally,
                              const std::string& coverage_text = {});

// Files whose call frame information exceeds the limits on work; `refused_rules`: number of refused
// rules.
std::string describe_unwind_limits(const std::vector<Module>& files, std::uint64_t refused_rules);
// Requests for unwind tables that exceeded a limit on all tables. REQUIRES: there are some.
std::string describe_refused_tables(const RecorderResult& recorded);
// Files whose rules cannot be packed into a table. REQUIRES: there are some.
std::string describe_unpackable_files(const RecorderResult& recorded);
// Processes for which only the newest entries of perf maps were read. REQUIRES: there are some.
std::string describe_truncated_maps(const std::vector<Module>& processes);
// Some stacks are not unwound and some frames have no names, because the user interrupted.
std::string describe_interruption();
// Processes whose mappings exceed the memory limit.
std::string describe_unmapped_processes(std::uint64_t processes);
// Files whose contents changed after processes had mapped them.
std::string describe_changed_files(const std::vector<Module>& files);
// 32-bit programs and libraries, which cannot be read.
std::string describe_32_bit_files(const std::vector<Module>& files);
// Files that were not opened; `timeouts`: how often a file system did not answer.
std::string describe_unopened_files(const std::vector<std::string>& paths, std::size_t timeouts);
// Returns one message per reason why frames have no names.
std::vector<std::string> describe_name_limits(const NamingResult& names);

}  // namespace ctprof
