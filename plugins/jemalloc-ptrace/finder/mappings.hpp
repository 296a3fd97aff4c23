// The files of which a process has code in memory.
//
// Linux 6.11 answers questions about single mappings, and passes over those that are no file: a
// process of ten thousand threads has twenty thousand, and a few dozen of files. Before that,
// /proc/<pid>/maps has a line for each:
//
//     7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6
//
// A path may hold blanks; the kernel writes a newline in it as \012, and " (deleted)" after the
// name of a file that was removed.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctprof/files.hpp"

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
  std::string range;  // of the mapping of code: a name in /proc/<pid>/map_files
  Mapping lowest;     // the file's first mapping: tells where it was loaded
};

// Collects the files, each once, from mappings in the order of their addresses.
class CodeFiles {
 public:
  // Of a file; `path` is the kernel's name for it, with " (deleted)" perhaps.
  void add(const Mapping& mapping, bool code, std::string_view path);
  std::vector<MappedFile> take() { return std::move(files_); }

 private:
  std::vector<MappedFile> files_;
  Mapping lowest_;  // of the run of mappings of one file that we are in
};

// What the text says. A line that cannot be understood is passed over.
std::vector<MappedFile> code_files(std::string_view maps);

// What the kernel says of the process that the open file `maps` belongs to: 0, or an errno; ESRCH
// when it has no memory. `map_files`: that directory, open, of a process of many mappings; none of
// others.
int read_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files);

// PROCMAP_QUERY of an open /proc/<pid>/maps (Linux 6.11): the mappings of files alone, without the
// text of all mappings.

// 0, or an errno: ENOTTY when the kernel cannot be asked so, or a name does not fit; ESRCH when the
// process has no memory.
int query_code_files(int maps, std::vector<MappedFile>& files);

// The same for a process of so many mappings that passing over those of no file takes longest:
// which are of files, the directory map_files tells in a third of the time. ENOTTY too where that
// directory is closed to us.
int query_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files);

// Shows `take` each mapping of code of a file, without its name, until it returns false: then, and
// when the last was shown, 0; or an errno as above.
int query_code(int maps, const std::function<bool(const FileId&)>& take);

// Whether the memory that the file was opened for is still there: 0, or an errno as above.
int query_any(int maps);

}  // namespace ctprof::jemalloc
