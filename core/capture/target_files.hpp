// Files that other processes have mapped, opened so that nobody can hold us up.
//
// A file counts only where it is the very one of the mapping, by device and inode: what stands at
// its path now may be another. /proc/<pid>/map_files leads to it whatever became of its name, but
// wants a capability; /proc/<pid>/exe and the path under the process's root do for the rest, and
// the path under our own root where the process is gone. Only regular files are ever opened.
//
// A file server may never answer, and anybody may mount one. So a thread of its own opens, and what
// has taken a second is left behind. What is on no disk of the host is copied by that thread,
// whole, so that nobody waits for its server later.
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/stacks/address_space.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class TargetFiles {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};

  // `proc`: the open directory /proc; it may be closed afterwards. `patience`: how long a file may
  // take to be opened.
  explicit TargetFiles(int proc, std::chrono::milliseconds patience = kPatience);

  // The file that is mapped there, to be read with pread(2); none where it cannot be had.
  sdk::Fd open(std::uint64_t process, const CodeRange& range, const std::string& path, FileId file);
  // What /tmp/perf-<pid>.map says in that process, at most 64 MiB of it; empty: there is none.
  std::string perf_map(std::uint64_t process);
  // What /proc/kallsyms says.
  std::string kernel_symbols();

  // How often nobody answered. After a few times nothing is opened any more.
  std::size_t held_up() const { return held_up_; }

 private:
  struct Directories;
  sdk::Fd in_time(std::function<sdk::Fd(const Directories&)> open);

  std::shared_ptr<const Directories> at_;  // of threads left behind, too
  std::chrono::milliseconds patience_;
  std::size_t held_up_ = 0;
};

}  // namespace ctprof
