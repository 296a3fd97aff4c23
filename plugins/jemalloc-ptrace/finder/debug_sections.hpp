// What debug information a file has inside, and how large it claims to be once unpacked.

#pragma once

#include <cstdint>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

struct DebugSections {
  bool info = false;        // there are descriptions of types
  bool packed = false;      // of many units, with an index
  std::uint64_t bytes = 0;  // of all debug sections
};

DebugSections debug_sections(const ElfFile& file);

}  // namespace ctprof::jemalloc
