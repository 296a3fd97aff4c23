// The debug sections of a file: which there are, how large they claim to be once unpacked, and the
// units of a DWARF package (.dwp).
//
// In a package the units' tables follow one another, and an index gives each unit's share (DWARF 5,
// section 7.3.5; GNU's version 2 before it). The libdw of our time reads a package as if the first
// share belonged to all units; so each unit becomes a small ELF file of its own, in memory.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

struct DebugSections {
  bool info = false;        // there are descriptions of types
  bool packed = false;      // of many units, with an index
  std::uint64_t bytes = 0;  // of all debug sections
};

// By its name.
bool is_debug_section(std::string_view name);

DebugSections debug_sections(const ElfFile& file);

class DwpUnits {
 public:
  explicit DwpUnits(const ElfFile& file);

  std::uint32_t size() const { return units_; }
  // Empty when the unit's shares lie outside of their sections.
  std::string image(std::uint32_t unit) const;

 private:
  using Sections = std::map<std::string, std::string>;

  std::uint32_t number(std::uint64_t at) const;
  std::uint32_t cell(std::uint64_t row, std::uint32_t column) const;
  bool add_share(std::uint32_t unit, std::uint32_t column, Sections& shares) const;

  std::uint16_t machine_;
  Sections sections_;
  std::string index_;
  std::uint32_t columns_ = 0;
  std::uint32_t units_ = 0;
  std::uint64_t rows_ = 0;  // where the index's rows begin: one of section numbers, then the units'
                            // offsets, then their sizes
};

}  // namespace ctprof::jemalloc
