// /proc/<pid>/maps: one line for each mapping of a process.
//
//     7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6
//
// A path may hold blanks; the kernel writes a newline in it as \012, and " (deleted)" after the name of a file that has none any more.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof::jemalloc {

struct FileId {
  std::uint64_t device = 0;  // as makedev(3) puts major and minor together
  std::uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // of its first byte in the file
  FileId file;
};

// A file of which a part is mapped as code.
struct MappedFile {
  FileId file;
  std::string path;  // as the process sees it
  bool deleted = false;
  std::string range;  // of the mapping of code, as the text has it: a name in /proc/<pid>/map_files
  Mapping lowest;     // the file's first mapping: tells where it was loaded
};

// Each such file once, in the order of the text. A line that cannot be understood is passed over.
std::vector<MappedFile> code_files(std::string_view maps);

}  // namespace ctprof::jemalloc
