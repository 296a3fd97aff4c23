// Opens files that may be on an unresponsive file system, so that ctprof never blocks on one.
//
// A child process (core/base/child_process.hpp) opens them. A child that exceeds its time limit, or
// still works when the user interrupts, is abandoned. The child copies a file that is not on a
// local disk completely, so that no later read waits for a server. Only regular files are opened.
// After a file system did not respond, no other file on its mount is opened.
//
//   TimeLimitedFiles files(std::chrono::seconds(10), interrupted_fd);
//   sdk::Fd fd = files.open("/mnt/bin/x");  // none: missing, not regular, or no response
//
// See also: core/capture/target_files.hpp (files that other processes have mapped).
//
// Threads: not thread-safe.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/child_process.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class TimeLimitedFiles {
 public:
  // Limit on the size of a file that is copied; readers never read more of a file.
  static constexpr std::uint64_t kMaxCopiedBytes = 512 << 20;

  // `stop`: a descriptor that becomes readable when the user interrupts; -1 if there is none.
  explicit TimeLimitedFiles(std::chrono::milliseconds timeout, int stop = -1);

  sdk::Fd open(const std::string& path);
  // Returns the paths that did not respond, and the paths that were skipped because of them.
  const std::vector<std::string>& unresponsive_paths() const { return unresponsive_paths_; }

 private:
  bool is_unresponsive(const std::string& path) const;

  std::chrono::milliseconds timeout_;
  int stop_;
  ChildProcess child_;
  std::size_t abandoned_children_ = 0;
  std::vector<std::string> unresponsive_mounts_;  // each ends with a slash
  std::vector<std::string> unresponsive_paths_;
};

// Returns the mount point that contains the path, according to the text of /proc/self/mountinfo. It
// ends with a slash.
std::string find_mount_point(const std::string& path, std::string_view mountinfo);

}  // namespace ctprof
