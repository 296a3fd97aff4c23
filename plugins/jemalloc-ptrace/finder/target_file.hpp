// Opens exactly the file that a process has mapped, in the process's own namespace.
//
// /proc/<pid>/map_files leads to the file even after it was renamed or removed, but requires a
// capability. Otherwise /proc/<pid>/exe, and /proc/<pid>/root with the path, are used, and the
// result counts only if it is the file of the mapping. Only regular files are opened, because
// opening a device or a pipe may have an effect.
//
// The type of a file is read without its server. Opening files and walking paths may block, so an
// AccessMonitor is called before; operations that it refuses fail with EBUSY.

#pragma once

#include <cstdint>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

namespace ctprof::jemalloc {

// An operation of the finder that may never finish. An AccessMonitor is notified in advance, so
// that the cause is known if the finder blocks.
enum class Operation : std::uint32_t {
  Nothing,
  Mappings,  // reading their list: another thread of the process may lock them indefinitely
  Walk,      // walking the directories of a path, over any mount
  File,      // opening or reading a file on `device`
  Memory,    // reading memory of the process, at `address`
};

struct Access {
  Operation operation = Operation::Nothing;
  std::uint64_t device = 0;  // in the encoding of makedev(3)
  std::uint64_t address = 0;
};

class AccessMonitor {
 public:
  virtual ~AccessMonitor() = default;
  // Called before each such operation. Returns false if it must be skipped.
  virtual bool allows(const Access& step) = 0;
};

struct OpenedFile {
  sdk::Fd fd;
  FileId id;      // from fstat(2): btrfs and overlayfs show another device in maps
  int error = 0;  // errno, if there is no fd
};

OpenedFile open_mapped(int proc, std::uint64_t tgid, const MappedFile& file,
                       AccessMonitor* watch = nullptr);

// Opens a regular file by path under the open directory `root`. Symbolic links do not lead out of
// it.
OpenedFile open_in_root(int root, const char* path, AccessMonitor* watch = nullptr);
// Opens the root directory of a process.
sdk::Fd open_root(int proc, std::uint64_t tgid);

}  // namespace ctprof::jemalloc
