// Which file system a mapping or a device belongs to, by a process's own list of mounts.
//
// What is here:   parsers of /proc/<pid>/maps and mountinfo for that, and readers that do not hang
// on
//                 any file system.
// What is not:    code in mappings (finder/mappings.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof::jemalloc {

// A mapping of a file.
struct FileRange {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t device;  // as makedev(3) puts it together
};

std::vector<FileRange> file_ranges(std::string_view maps);
// 0: no file is mapped there.
std::uint64_t device_at(const std::vector<FileRange>& ranges, std::uint64_t address);

// Where the device is mounted, as the text has it (blanks and the like in octal), what no terminal
// should get replaced by '?'; empty: nowhere.
std::string mount_point_in(std::string_view mountinfo, std::uint64_t device);

// Of a process, which `proc` is the open directory for; empty where nothing can be read.
std::vector<FileRange> mappings_of(int proc, std::uint64_t tid);
std::string mount_point(int proc, std::uint64_t tid, std::uint64_t device);

}  // namespace ctprof::jemalloc
