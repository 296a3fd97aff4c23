// Lists the files whose code a process has mapped.
//
// Linux 6.11 supports queries for single mappings, and skips mappings without a file: a process
// with ten thousand threads has twenty thousand of these, and a few dozen with files. Before that,
// /proc/<pid>/maps has a line for each:
//
//     7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6
//
// A path may contain blanks; the kernel writes a newline in it as \012, and " (deleted)" after the
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
  std::uint64_t device = 0;  // major and minor in the encoding of makedev(3)
  std::uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // of its first byte in the file
  FileId file;
};

// A file with a part that is mapped as code.
struct MappedFile {
  FileId file;
  std::string path;  // in the namespace of the process
  bool is_deleted = false;
  std::string range;      // of the code mapping: a name in /proc/<pid>/map_files
  Mapping first_mapping;  // the file's first mapping, which shows where it was loaded
};

// Collects the files without duplicates, from mappings in the order of their addresses.
class CodeFiles {
 public:
  // Adds a mapping of a file; `path` is the kernel's name for it, possibly with " (deleted)".
  void add(const Mapping& mapping, bool is_code, std::string_view path);
  std::vector<MappedFile> take_files() { return std::move(files_); }

 private:
  std::vector<MappedFile> files_;
  Mapping run_start_;  // of the current run of mappings of one file
};

// Parses the text; malformed lines are skipped.
std::vector<MappedFile> parse_code_files(std::string_view maps);

// Lists the files of the process that the open file `maps` belongs to. Returns 0, or an errno;
// ESRCH if the process has no memory. `map_files` is that directory, open, for a process with many
// mappings; invalid for others.
int read_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files);

// The functions below use PROCMAP_QUERY of an open /proc/<pid>/maps (Linux 6.11), which returns
// only the mappings of files, without the text of all mappings.

// Returns 0, or an errno: ENOTTY if the kernel does not support the query, or a name does not fit;
// ESRCH if the process has no memory.
int query_code_files(int maps, std::vector<MappedFile>& files);

// Does the same for a process with so many mappings that skipping those without files dominates:
// the directory map_files lists those of files in a third of the time. Also returns ENOTTY if that
// directory cannot be read.
int query_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files);

// Calls `take` for each code mapping of a file, without its name, until it returns false. Returns 0
// then and after the last one; or an errno as above.
int for_each_code_mapping(int maps, const std::function<bool(const FileId&)>& take);

// Checks that the memory for which the file was opened still exists: returns 0, or an errno as
// above.
int check_memory_exists(int maps);

}  // namespace ctprof::jemalloc
