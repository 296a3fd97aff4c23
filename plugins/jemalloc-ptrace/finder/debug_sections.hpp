// The debug sections of a file, their claimed sizes after unpacking, and the units of a DWARF
// package (.dwp).
//
// In a package the tables of the units are concatenated, and an index contains the part of each
// unit (DWARF 5, section 7.3.5; GNU's version 2 before it). Current versions of libdw read a
// package as if the first part belonged to all units. Therefore each unit becomes a small ELF file
// of its own, in memory.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

struct DebugSections {
  bool has_info = false;    // there are descriptions of types
  bool is_package = false;  // it is a package with many units and an index
  std::uint64_t bytes = 0;  // of all debug sections
};

// Returns whether a section contains debug information, by its name.
bool is_debug_section(std::string_view name);

DebugSections find_debug_sections(const ElfFile& file);

class DwpUnits {
 public:
  explicit DwpUnits(const ElfFile& file);

  std::uint32_t size() const { return units_; }
  // Returns an ELF file, or an empty text if the unit's parts are outside of their sections.
  std::string build_image(std::uint32_t unit) const;

 private:
  using Sections = std::map<std::string, std::string>;

  std::uint32_t read_number(std::uint64_t offset) const;
  std::uint32_t read_cell(std::uint64_t row, std::uint32_t column) const;
  bool add_part(std::uint32_t unit, std::uint32_t column, Sections& parts) const;

  std::uint16_t machine_;
  Sections sections_;
  std::string index_;
  std::uint32_t columns_ = 0;
  std::uint32_t units_ = 0;
  std::uint64_t rows_ = 0;  // start of the index's rows: one of section numbers, then the units'
                            // offsets, then their sizes
};

}  // namespace ctprof::jemalloc
