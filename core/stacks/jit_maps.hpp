// What just-in-time compilers tell about their functions, as the text of a perf map: lines of
// start, size and name, the newest last (symbols.hpp reads it).
//
//   /tmp/perf-<pid>.map   that text
//   jit-<pid>.dump        perf's binary form (jitdump), with code and names
//
// Files may be hostile: their sizes are not believed, and only the newest entries are kept of those
// that are too large.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof {

struct JitMap {
  // Bytes of text.
  static constexpr std::size_t kMost = 64 << 20;
  // Entries of a jitdump: functions that were made or moved.
  static constexpr std::size_t kMostEntries = 2 << 20;

  std::string text;
  bool is_cut = false;  // the oldest entries are left out
};

// Of a perf map: its last `most` bytes, from the first whole line on.
JitMap read_perf_map(int fd, std::size_t most = JitMap::kMost);
// Of a jitdump, as far as it is whole; empty if it is none.
JitMap read_jit_dump(int fd, std::size_t most = JitMap::kMost);

// /tmp/perf-<pid>.map of a process that has exited, opened to be read: a regular file, no link, of
// the user of ctprof, which existed at a time when the process still ran. None: there is no such.
sdk::Fd open_perf_map_of_exited(std::uint64_t process, std::uint64_t existed_unix_ns,
                                const std::string& directory = "/tmp");

// The process of a jitdump's path; nothing if it is not named "jit-<pid>.dump".
std::optional<std::uint64_t> process_of_jit_dump(std::string_view path);

}  // namespace ctprof
