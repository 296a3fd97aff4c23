// Opens files that other processes have mapped, within a time limit, and without rights that the
// process or the user of ctprof lacks.
//
// A file is used only if it is the file of the mapping, by device and inode, because its path may
// lead to another file now. It is not used if its contents changed, or may have changed, since it
// was mapped or pinned (pinned_files.hpp): the path of an exited process may lead to another file
// that reuses the inode. Only regular files are opened, in this order:
//
//   the descriptor of a pinned file, else
//   /proc/PID/map_files, /proc/PID/exe   the mapping itself, with the rights of ctprof
//   the path under the process's root    as the user of the process, without capabilities
//   the path under the root of ctprof    as that user; for an exited process as its last known
//                                        user, else as the user of ctprof, without capabilities
//
// If the executable has capabilities that its user lacks, every file is opened as that user,
// without capabilities, also through the mapping. So a program that the user may execute but not
// read has no names.
//
// A file server may never answer, and any user may mount one. A thread that waits for it may not
// even be killable. So a child process opens the files; it is abandoned after one second. It copies
// a file that is not on a local disk as a whole, so that no later read waits for its server. The
// total size of copies is limited, without those that were closed by close(). After timeouts, fewer
// files are opened (open_timeouts.hpp).
//
// Threads: used by one thread at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/capture/open_timeouts.hpp"
#include "core/capture/target_opener.hpp"
#include "core/capture/target_owner.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/jit_maps.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class TargetFiles {
 public:
  static constexpr std::chrono::milliseconds kTimeout{1000};
  // Limit of the bytes of all copies; a container with a browser has 300 MiB of such files.
  static constexpr std::uint64_t kMaxCopiedBytes = 512 << 20;

  // `proc`: the open directory /proc; it may be closed afterwards. `timeout`: time limit of one
  // open. `has_extra_rights`: whether ctprof has rights that its user lacks.
  explicit TargetFiles(int proc, std::chrono::milliseconds timeout = kTimeout,
                       bool has_extra_rights = has_elevated_rights(),
                       std::uint64_t max_copied_bytes = kMaxCopiedBytes,
                       std::size_t max_map_bytes = JitMap::kMaxBytes);
  TargetFiles(const TargetFiles&) = delete;
  TargetFiles& operator=(const TargetFiles&) = delete;

  // Opens the file of the mapping for pread(2); returns an invalid descriptor on failure. `owner`:
  // the last known user of the process, for an exited process. `content`: a file with other
  // contents is not opened.
  sdk::Fd open(std::uint64_t process, const CodeRange& range, const std::string& path, FileId file,
               const std::optional<TargetOwner>& owner = {}, const MappedContent& content = {});
  // Same, but `mapping` has the device and inode that the kernel reads, which on an overlay mount
  // are those of a layer's file. Opens the overlay file instead, if a process in our user namespace
  // has mapped it on an overlay mount of its own (overlay_mount.hpp). `status`: that of the file
  // that the kernel reads; a file with another status is not opened. It may change before it is
  // read, which stamp() shows.
  sdk::Fd open_by_kernel_id(std::uint64_t process, const Mapping& mapping,
                            const KernelStatus& status);
  // Returns the overlay file that the last open_by_kernel_id() opened, as listed in /proc/PID/maps.
  const FileId& overlay_file() const { return last_file_.overlay_file; }
  const std::string& overlay_path() const { return last_file_.path; }
  // Returns whether the last open() failed because the file has other contents.
  bool is_changed() const { return last_file_.is_changed; }
  // Returns the stamp of the file that the last open() opened; for a copy, that of the original.
  // nullopt: the file was not opened, or its stamp is unknown.
  const std::optional<FileStamp>& stamp() const { return last_file_.stamp; }
  // Closes the descriptor that the last open() returned. If it is a copy, its bytes no longer count
  // towards the limit.
  void close(sdk::Fd fd);
  // Reads /tmp/perf-<pid>.map, which a JIT compiler wrote: below the root of the process, then
  // below the root of ctprof, where it remains after the process has exited. Empty: there is none.
  // The map must be a regular file of the process's user, reached without symbolic links, and
  // written after the process started and before another process reused its pid. From a large map,
  // only the newest entries are read, which are at its end. `owner`: the last known user of the
  // process, and its start time.
  JitMap perf_map(std::uint64_t process, const std::optional<TargetOwner>& owner = {});
  // Opens a regular file that another file refers to by an absolute path, as the user of ctprof
  // without capabilities. Returns an invalid descriptor on failure or timeout.
  sdk::Fd open_by_path(const std::string& path);
  // Reads /proc/kallsyms.
  std::string kernel_symbols();

  // Clears all timeouts; count_timeouts() restarts at 0.
  void clear_timeouts() { timeouts_ = OpenTimeouts(timeouts_.full_timeout()); }

  // Returns the number of opens that timed out.
  std::size_t count_timeouts() const { return timeouts_.count(); }
  // Returns the first hundred files that were not opened because of timeouts or the copy limit.
  const std::vector<std::string>& unopened_files() const { return unopened_files_; }

 private:
  sdk::Fd open_mapped(const OpenRequest& request);
  OpenTimeouts::Target read_target(std::uint64_t process,
                                   const std::optional<TargetOwner>& owner) const;
  OpenTimeouts::Target find_target(std::uint64_t process,
                                   const std::optional<TargetOwner>& owner) const;
  sdk::Fd open_in_child(const OpenRequest& request, bool& has_timed_out);
  void add_unopened(const std::string& path);

  sdk::Fd proc_;
  TargetOpener opener_;
  ChildProcess child_;  // runs the opener
  OpenTimeouts timeouts_;
  std::size_t max_map_bytes_;
  std::vector<std::string> unopened_files_;
  bool is_last_unopened_ = false;  // the last file was not opened: timeout or limit
  OpenedFile last_file_ = {};      // without its descriptor
};

}  // namespace ctprof
