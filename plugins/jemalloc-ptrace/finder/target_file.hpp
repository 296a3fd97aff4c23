// Opening a file that a process has mapped: the very file, in the process's own namespace.
//
// /proc/<pid>/map_files leads to it whatever became of its name, but wants a capability;
// /proc/<pid>/exe and /proc/<pid>/root with the path do for the rest, and what is found there
// counts only when it is the file of the mapping. Nothing but regular files is ever opened: opening
// a device or a pipe may do something.
//
// What a file is, is asked without its server; opening it and walking paths may hang, and a watch
// is told before. What that does not allow fails with EBUSY.

#pragma once

#include <cstdint>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"
#include "plugins/jemalloc-ptrace/finder/watch.hpp"

namespace ctprof::jemalloc {

struct OpenedFile {
  sdk::Fd fd;
  FileId id;      // as fstat(2) has it: btrfs and overlayfs show another device in maps
  int error = 0;  // errno, when there is no fd
};

OpenedFile open_mapped(int proc, std::uint64_t tgid, const MappedFile& file,
                       Watch* watch = nullptr);

// Opens a regular file by path under the open directory `root`, from which no symbolic link leads
// out.
OpenedFile open_under(int root, const char* path, Watch* watch = nullptr);
// The root directory of a process.
sdk::Fd root_of(int proc, std::uint64_t tgid);

}  // namespace ctprof::jemalloc
