// A DWARF package (.dwp) taken apart: each of its units as a small ELF file of its own, in memory.
//
// In a package the units' tables lie one behind another, and an index tells each unit's share
// (DWARF 5, section 7.3.5; GNU's version 2 before it). The libdw of our time reads a package as if
// the first share were everybody's, so that it is handed the shares instead.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

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
