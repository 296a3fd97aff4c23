// What a recorder did in a window, in one line for the user.
//
//   on-cpu: 1986 stacks, 99.7% to the root (6 not unwound); 123.4 ms of CPU time, 45.6 MiB
//
// What is 0 is not told.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/capture/records.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/snapshot/stack_names.hpp"

namespace ctprof {

// What was taken and what is missing, where, and what it cost. `tally`: what became of the stacks;
// those that are of threads while their rows were open are told, and all that came where none is.
// `represented`: how much of the run time its samples represent, in words; empty: all of it.
std::string in_words(const Recorded& recorded, const StackTally& tally,
                     const std::string& represented = {});

// Files whose call frame information exceeds the limits on work, and how often rules were refused.
std::string refused_in_words(const std::vector<Module>& files, std::uint64_t places);
// Requests for unwind tables that exceeded a limit on all of them. REQUIRES: there are some.
std::string tables_refused_in_words(const Recorded& recorded);
// Processes of whose perf maps only the newest entries are read. REQUIRES: there are some.
std::string cut_maps_in_words(const std::vector<Module>& processes);
// Some stacks are not unwound and some frames have no names, because somebody interrupted.
std::string interrupted_in_words();
// Processes whose mappings there was no memory for.
std::string unmapped_in_words(std::uint64_t processes);
// Files whose content was changed after processes had mapped them.
std::string changed_in_words(const std::vector<Module>& files);
// Programs and libraries of 32 bits, which cannot be read.
std::string of_32_bit_in_words(const std::vector<Module>& files);
// Files that were not opened; `unanswered`: how often a file system did not answer.
std::string left_out_in_words(const std::vector<std::string>& paths, std::size_t unanswered);
// What kept frames from having names, a sentence for each reason.
std::vector<std::string> names_in_words(const StackNames& named);

}  // namespace ctprof
