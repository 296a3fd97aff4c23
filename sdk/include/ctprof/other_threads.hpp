// The threads of a process other than its main thread.
//
// If the main thread of a process exits before others, /proc/PID no longer shows memory: maps is
// empty, statm is zero, exe and root are missing. The directories of the other threads,
// /proc/PID/task/TID and /proc/TID, still show it.
//
//   for (const std::uint64_t tid : sdk::other_threads(host.proc(), tgid))
//     ...  // read task/TID until one read succeeds: threads may exit meanwhile
//
// Any thread may call this function.

#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof::sdk {

// Returns at most `most` thread ids, in the order of the kernel; none if the process has exited.
// `proc`: an open directory, /proc or a tree that was recorded from one.
inline std::vector<std::uint64_t> other_threads(int proc, std::uint64_t tgid,
                                                std::size_t most = 8) {
  // The link count of a task directory with only the main thread: `.`, `..` and its directory. Some
  // file systems do not count directories.
  constexpr nlink_t kOfMainThread = 3;
  std::vector<std::uint64_t> tids;
  Fd task(
      ::openat(proc, (std::to_string(tgid) + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!task || ::fstat(task.get(), &status) != 0 || status.st_nlink == kOfMainThread) return tids;
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(task.get()), &::closedir);
  if (!names) return tids;
  task.release();
  while (const dirent* name = tids.size() < most ? ::readdir(names.get()) : nullptr) {
    const char* const end = name->d_name + std::strlen(name->d_name);
    std::uint64_t tid = 0;
    if (std::from_chars(name->d_name, end, tid).ptr == end && tid != 0 && tid != tgid)
      tids.push_back(tid);
  }
  return tids;
}

}  // namespace ctprof::sdk
