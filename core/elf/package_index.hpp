// The index of a DWARF package (.dwp): which part of each section belongs to which unit (DWARF 5,
// section 7.3.5, and GNU's version 2 before it).
//
// Numbers in the index are not trusted: reads outside of it give zero, and counts are limited.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ctprof {

enum class PackageSection : std::uint8_t { Info, Abbrev, Line, StrOffsets, RngLists };

// Returns the name without ".dwo": ".debug_info".
std::string_view get_section_name(PackageSection section);

class PackageIndex {
 public:
  // `bytes` are the contents of .debug_cu_index, and must outlive this object.
  explicit PackageIndex(std::string_view bytes);

  // Returns the number of units; 0 if the header is invalid. Rows are counted from 1.
  std::uint32_t row_count() const { return units_; }
  // Returns the row of a unit; 0 if the unit is missing.
  std::uint32_t find_row(std::uint64_t id) const;

  struct SectionPart {
    std::uint64_t offset, size;
  };
  // Returns nothing if the package does not divide this section.
  std::optional<SectionPart> find_section_part(std::uint32_t row, PackageSection section) const;

 private:
  template <class T>
  T read_number(std::uint64_t at) const;

  std::string_view bytes_;
  std::uint32_t version_ = 0, columns_ = 0, units_ = 0, slots_ = 0;
};

}  // namespace ctprof
