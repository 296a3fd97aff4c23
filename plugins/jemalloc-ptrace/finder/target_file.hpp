// Opening a file that a process has mapped: the very file, in the process's own namespace.
//
// /proc/<pid>/map_files leads to it whatever became of its name, but wants a capability; /proc/<pid>/exe and /proc/<pid>/root with the path
// do for the rest, and what is found there counts only when it is the file of the mapping. Nothing but regular files is ever opened: opening
// a device or a pipe may do something.

#pragma once

#include <cstdint>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

namespace ctprof::jemalloc {

struct OpenedFile {
  sdk::Fd fd;
  FileId id;      // as fstat(2) has it: btrfs and overlayfs show another device in maps
  int error = 0;  // errno, when there is no fd
};

OpenedFile open_mapped(int proc, std::uint64_t tgid, const MappedFile& file);

// Opens a regular file by path under the open directory `root`, from which no symbolic link leads out.
OpenedFile open_under(int root, const char* path);
// The root directory of a process.
sdk::Fd root_of(int proc, std::uint64_t tgid);

}  // namespace ctprof::jemalloc
