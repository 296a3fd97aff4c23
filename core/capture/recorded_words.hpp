// Describes the work of a recorder in a window, in one line for the user.
//
//   on-cpu: 1986 stacks, 99.7% to the root (6 not unwound); 123.4 ms of CPU time, 45.6 MiB
//
// Zero counts are omitted.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/capture/records.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/snapshot/stack_names.hpp"

namespace ctprof {

// Returns the number of stacks, losses with their places, and the cost. `tally`: results of
// unwinding, for stacks inside the window; and the number of all records without a row.
// `coverage_text`: a description of the run time that the samples represent; empty: all of it.
std::string in_words(const Recorded& recorded, const StackTally& tally,
                     const std::string& represented = {});

// Files whose call frame information exceeds the limits on work; `refused_rules`: number of refused
// rules.
std::string refused_in_words(const std::vector<Module>& files, std::uint64_t places);
// Requests for unwind tables that exceeded a limit on all tables. REQUIRES: there are some.
std::string tables_refused_in_words(const Recorded& recorded);
// Processes for which only the newest entries of perf maps were read. REQUIRES: there are some.
std::string cut_maps_in_words(const std::vector<Module>& processes);
// Some stacks are not unwound and some frames have no names, because the user interrupted.
std::string interrupted_in_words();
// Processes whose mappings exceed the memory limit.
std::string unmapped_in_words(std::uint64_t processes);
// Files whose contents changed after processes had mapped them.
std::string changed_in_words(const std::vector<Module>& files);
// 32-bit programs and libraries, which cannot be read.
std::string of_32_bit_in_words(const std::vector<Module>& files);
// Files that were not opened; `timeouts`: how often a file system did not answer.
std::string left_out_in_words(const std::vector<std::string>& paths, std::size_t unanswered);
// Returns one message per reason why frames have no names.
std::vector<std::string> names_in_words(const StackNames& named);

}  // namespace ctprof
