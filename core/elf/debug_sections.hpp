// The sections of a file that contain debug information, and their claimed sizes.

#pragma once

#include <cstdint>
#include <string_view>

#include "core/elf/elf_file.hpp"

namespace ctprof {

// Returns whether a section contains debug information, by its name.
bool is_debug_section(std::string_view name);

// Returns the unpacked size that a section claims, in the current header or in the one of old
// tools; UINT64_MAX if the header cannot be read.
std::uint64_t get_unpacked_size(const ElfFile& file, const Elf64_Shdr& section);

}  // namespace ctprof
