// Reads function lists of just-in-time compilers and returns them as the text of a perf map: lines
// of start, size and name, newest last (symbols.hpp parses them).
//
//   /tmp/perf-<pid>.map   this text
//   jit-<pid>.dump        perf's binary format (jitdump), with code and names
//
// Files may be hostile: sizes in them are not trusted, and a file that is too large is reduced to
// its newest entries.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof {

struct JitMap {
  // Limit on the text in bytes.
  static constexpr std::size_t kMaxBytes = 64 << 20;
  // Limit on entries of a jitdump: functions that were created or moved.
  static constexpr std::size_t kMaxEntries = 2 << 20;

  std::string text;
  bool is_truncated = false;  // the oldest entries are missing
};

// Reads the last `max_bytes` of a perf map, from the first complete line on.
JitMap read_perf_map(int fd, std::size_t max_bytes = JitMap::kMaxBytes);
// Reads a jitdump up to its first incomplete entry; empty if the file is not a jitdump.
JitMap read_jit_dump(int fd, std::size_t max_bytes = JitMap::kMaxBytes);

// Opens /tmp/perf-<pid>.map of a process that has exited, for reading. The file must be regular,
// not a link, owned by the user of ctprof, and have existed while the process still ran. Returns no
// descriptor otherwise.
sdk::Fd open_perf_map_of_exited(std::uint64_t process, std::uint64_t alive_unix_ns,
                                const std::string& directory = "/tmp");

// Returns the process in the path of a jitdump; nothing if it is not named "jit-<pid>.dump".
std::optional<std::uint64_t> parse_jit_dump_process(std::string_view path);

}  // namespace ctprof
