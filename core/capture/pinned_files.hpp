// Keeps the files that processes have mapped from being replaced before they are read.
//
// A recording opens the files of its stacks after its window. Until then a file may be overwritten,
// or be removed and its inode given to another file, whose functions would then name the stacks.
// So a thread names each mapped file soon after it is seen, with a descriptor (O_PATH) that gives
// no right to read it, and notes when the file was last written and changed. While the descriptor
// is open, the kernel gives the inode to no other file.
//
// A file that is written to between two mappings is listed once for each content.
//
//   PinnedFiles files(proc);
//   files.want(tgid, mapping);                          // returns immediately
//   const std::vector<PinnedFile> pinned = files.take();  // closed with the last copy of these
//
// At most kMost files are pinned in a window, and no more than a quarter of the files that ctprof
// may open; other files are opened only if nothing has changed them since they were mapped
// (target_files.hpp). Only files that ctprof can reach through the mapping itself
// (/proc/PID/map_files, /proc/PID/exe) are pinned: no path that a process chose is opened here.
//
// Threads: one at a time. A thread that a file system blocks is left behind.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/stacks/address_space.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Shows whether the content of a file changed. Times are those of CLOCK_REALTIME.
struct FileStamp {
  std::uint64_t changed_ns = 0;  // the inode (ctime); no program can set it
  std::uint64_t written_ns = 0;  // the content (mtime)
  std::uint64_t created_ns = 0;  // the inode (btime); 0: unknown
  std::uint64_t size = 0;

  // REQUIRES: both are of one inode.
  bool has_same_content(const FileStamp& other) const {
    return written_ns == other.written_ns && size == other.size;
  }
};

// The stamp of an open file, as far as the kernel knows it without asking a file server; nothing if
// that fails.
std::optional<FileStamp> stamp_of(int fd);

struct PinnedFile {
  FileId file;             // its version is the number of this entry, counted from 1
  std::uint64_t tgid = 0;  // a process that has it mapped
  FileStamp stamp;
  std::shared_ptr<const sdk::Fd> named;  // shared by the contents of one file
};

class PinnedFiles {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::chrono::milliseconds kPatience{500};

  // `proc`: the open directory /proc; it may be closed afterwards. `patience`: how long `take` and
  // the destructor wait for the thread. `most`: files in one window.
  explicit PinnedFiles(int proc, std::chrono::milliseconds patience = kPatience,
                       std::size_t most = kMost);
  ~PinnedFiles();
  PinnedFiles(const PinnedFiles&) = delete;
  PinnedFiles& operator=(const PinnedFiles&) = delete;

  // The process has the file of this mapping mapped now, or had it until it exited.
  void want(std::uint64_t tgid, const Mapping& mapping) const { want_(tgid, mapping); }
  // `want` for other threads, which may call it at any time, also after this object is destroyed.
  using Want = std::function<void(std::uint64_t tgid, const Mapping& mapping)>;
  const Want& wanter() const { return want_; }
  // Waits until all of this is done, but no longer than `patience`.
  void wait() const;
  // What was pinned since the last call, after wait().
  std::vector<PinnedFile> take();

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  // the thread's, too
  Want want_;
  std::thread thread_;
  std::chrono::milliseconds patience_;
};

}  // namespace ctprof
