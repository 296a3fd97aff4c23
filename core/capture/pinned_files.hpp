// Protects files that processes have mapped from replacement before they are read.
//
// A recording opens the files of its stacks after its window. Until then a file may be overwritten,
// or be removed and its inode reused by another file, whose functions would then name the stacks.
// So a thread opens each mapped file soon after it is first seen, with a descriptor (O_PATH) that
// gives no right to read it, and stores the times of its last write and change. While the
// descriptor is open, the kernel does not reuse the inode.
//
// A file that is written to between two mappings has one entry per version of its contents.
//
//   PinnedFiles files(proc);
//   files.request(tgid, mapping);                         // returns immediately
//   const std::vector<PinnedFile> pinned = files.take();  // closed with their last copy
//
// At most kMaxFiles files are pinned in a window, and no more than a quarter of the files that
// ctprof may open. Other files are opened only if they have not changed since they were mapped
// (target_files.hpp). Only files that ctprof can reach through the mapping itself
// (/proc/PID/map_files, /proc/PID/exe) are pinned: no path that a process chose is opened here.
//
// Threads: used by one thread at a time. A worker thread that a file system blocks is abandoned.

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

  // REQUIRES: both belong to the same inode.
  bool has_same_content(const FileStamp& other) const {
    return written_ns == other.written_ns && size == other.size;
  }
};

// Returns the stamp of an open file from the kernel's caches, without contacting a file server;
// nullopt on failure.
std::optional<FileStamp> read_stamp(int fd);

struct PinnedFile {
  FileId file;             // its version is the index of this entry plus 1
  std::uint64_t tgid = 0;  // a process that maps it
  FileStamp stamp;
  std::shared_ptr<const sdk::Fd> descriptor;  // shared by all versions of one file
};

class PinnedFiles {
 public:
  static constexpr std::size_t kMaxFiles = 1024;
  static constexpr std::chrono::milliseconds kTimeout{500};

  // `proc`: the open directory /proc; it may be closed afterwards. `timeout`: how long `take` and
  // the destructor wait for the thread. `max_files`: files in one window.
  explicit PinnedFiles(int proc, std::chrono::milliseconds timeout = kTimeout,
                       std::size_t max_files = kMaxFiles);
  ~PinnedFiles();
  PinnedFiles(const PinnedFiles&) = delete;
  PinnedFiles& operator=(const PinnedFiles&) = delete;

  // Requests to pin the file of a mapping that the process has now, or had when it exited.
  void request(std::uint64_t tgid, const Mapping& mapping) const {
    request_function_(tgid, mapping);
  }
  // Does the same as request(), for other threads, which may call it at any time, even after this
  // object is destroyed.
  using RequestFunction = std::function<void(std::uint64_t tgid, const Mapping& mapping)>;
  const RequestFunction& request_function() const { return request_function_; }
  // Waits until all requests are processed, but no longer than `timeout`.
  void wait() const;
  // Waits like wait(), then returns the files that were pinned since the previous call.
  std::vector<PinnedFile> take();

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  // shared with the thread
  RequestFunction request_function_;
  std::thread thread_;
  std::chrono::milliseconds timeout_;
};

}  // namespace ctprof
