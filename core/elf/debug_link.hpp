// Finds the file with the debug information of a stripped file: by the link in it
// (.gnu_debuglink), or by its build id.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/elf/elf_file.hpp"

namespace ctprof {

// A file name without directories, and the checksum of that file.
struct DebugLink {
  std::string name;
  std::uint32_t checksum = 0;
};

// Returns nothing if the link is missing, broken, or names a directory.
std::optional<DebugLink> read_debug_link(const ElfFile& file);

// Reads the whole file. Returns nothing if it cannot be read.
std::optional<std::uint32_t> compute_link_checksum(const ElfFile& file);

// Returns the path of a build id in a debug directory, without its ending: /.build-id/12/3456.
// REQUIRES: the build id has at least two bytes.
std::string format_build_id_path(std::string_view build_id);

}  // namespace ctprof
