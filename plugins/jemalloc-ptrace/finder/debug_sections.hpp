// The debug sections of a file, their claimed sizes after unpacking, and the units of a DWARF
// package (.dwp).
//
// In a package the tables of the units are concatenated, and an index contains the part of each
// unit (package_index.hpp). Current versions of libdw read a package as if the first part belonged
// to all units. Therefore each unit becomes a small ELF file of its own, in memory.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/elf/elf_file.hpp"

namespace ctprof::jemalloc {

struct DebugSections {
  bool has_info = false;    // there are descriptions of types
  bool is_package = false;  // it is a package with many units and an index
  std::uint64_t bytes = 0;  // of all debug sections
};

DebugSections find_debug_sections(const ElfFile& file);

class DwpUnits {
 public:
  explicit DwpUnits(const ElfFile& file);

  // Returns the number of units; 0 if the package has too many.
  std::uint32_t size() const;
  // Returns an ELF file, or an empty text if the unit's parts are outside of their sections.
  // REQUIRES: unit < size().
  std::string build_image(std::uint32_t unit) const;

 private:
  std::uint16_t machine_;
  std::map<std::string, std::string> sections_;
  std::string index_;
};

}  // namespace ctprof::jemalloc
