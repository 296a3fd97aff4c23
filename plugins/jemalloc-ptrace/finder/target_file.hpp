// Opening a file that a process has mapped: the very file, in the process's own namespace.
//
// /proc/<pid>/map_files leads to it whatever became of its name, but wants a capability;
// /proc/<pid>/exe and /proc/<pid>/root with the path do for the rest, and what is found there
// counts only when it is the file of the mapping. Only regular files are ever opened: opening a
// device or a pipe may have an effect.
//
// The type of a file is asked without its server. Opening it and walking paths may hang, so a Watch
// is asked before; what it does not allow fails with EBUSY.

#pragma once

#include <cstdint>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

namespace ctprof::jemalloc {

// What the finder is about to do that may never end: a watch learns it beforehand, so that it is
// known what the finder hangs on.
enum class Operation : std::uint32_t {
  Nothing,
  Mappings,  // the list of them: another thread of the process may hold them for ever
  Walk,      // from directory to directory of a path, over any mount
  File,      // opening or reading one of `device`
  Memory,    // of the process, at `address`
};

struct Ahead {
  Operation operation = Operation::Nothing;
  std::uint64_t device = 0;  // as makedev(3) puts it together
  std::uint64_t address = 0;
};

class Watch {
 public:
  virtual ~Watch() = default;
  // Called before each such step. False: it is to be left out.
  virtual bool allows(const Ahead& step) = 0;
};

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
