// Opens files that may be on a file system that does not answer, so that ctprof never waits for
// one.
//
// A child process (core/base/child_process.hpp) opens them. One that takes longer than it may, or
// is still at work when the user interrupts, is left behind. A file that is on no disk of this host
// is copied by the child, whole, so that no later read waits for its server. Only regular files are
// opened. Once a file system did not answer, nothing else that it has mounted is asked for.
//
//   PatientFiles files(std::chrono::seconds(10), interrupted_fd);
//   sdk::Fd fd = files.open("/mnt/bin/x");  // none: missing, no regular file, or no answer
//
// See also: core/capture/target_files.hpp (files that other processes have mapped).
//
// Threads: one at a time.

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

class PatientFiles {
 public:
  // Bytes of one file that is copied; no more is ever read of one.
  static constexpr std::uint64_t kMostCopied = 512 << 20;

  // `stop`: a descriptor that is readable once the user interrupts; -1: there is none.
  explicit PatientFiles(std::chrono::milliseconds patience, int stop = -1);

  sdk::Fd open(const std::string& path);
  // Paths that did not answer, and paths that were not asked for because of these.
  const std::vector<std::string>& silent() const { return silent_; }

 private:
  bool is_silent(const std::string& path) const;

  std::chrono::milliseconds patience_;
  int stop_;
  ChildProcess child_;
  std::size_t left_ = 0;
  std::vector<std::string> mounts_;  // that did not answer, with a slash at their ends
  std::vector<std::string> silent_;
};

// The mount point that holds the path, by the text of /proc/self/mountinfo, with a slash at its
// end.
std::string mount_point_of(const std::string& path, std::string_view mountinfo);

}  // namespace ctprof
