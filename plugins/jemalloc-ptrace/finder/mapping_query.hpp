// PROCMAP_QUERY of an open /proc/<pid>/maps (Linux 6.11): the mappings of files alone, without a
// text of them all.
//
// What is here:   the questions.
// What is not:    what becomes of the answers (mappings.hpp).

#pragma once

#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

namespace ctprof::jemalloc {

// 0, or an errno: ENOTTY when the kernel cannot be asked so, or a name does not fit; ESRCH when the
// process has no memory.
int query_code_files(int maps, std::vector<MappedFile>& files);

// The same for a process of so many mappings that passing over those of no file takes longest:
// which are of files, the directory map_files tells in a third of the time. ENOTTY too where that
// directory is closed to us.
int query_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files);

// Whether the memory that the file was opened for is still there: 0, or an errno as above.
int query_any(int maps);

}  // namespace ctprof::jemalloc
