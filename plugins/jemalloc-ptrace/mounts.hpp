// Finds the file system of a mapping or a device, in a process's own list of mounts.
//
// Contains parsers of /proc/<pid>/maps and mountinfo, and readers that do not block on any file
// system.
// See also: finder/mappings.hpp for code in mappings.

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
  std::uint64_t device;  // in the encoding of makedev(3)
};

std::vector<FileRange> parse_file_ranges(std::string_view maps);
// Returns 0 if no file is mapped there.
std::uint64_t find_device(const std::vector<FileRange>& ranges, std::uint64_t address);

// Returns the mount point of the device in the form of the text (blanks and similar characters in
// octal), with non-printable bytes replaced by '?'; empty if it is not mounted.
std::string parse_mount_point(std::string_view mountinfo, std::uint64_t device);

// Read the files of a process; `proc` is the open directory /proc. The results are empty if nothing
// can be read.
std::vector<FileRange> read_file_ranges(int proc, std::uint64_t tid);
std::string read_mount_point(int proc, std::uint64_t tid, std::uint64_t device);

}  // namespace ctprof::jemalloc
