#include "core/elf/package_index.hpp"

#include <array>

#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kGnuVersion = 2, kDwarf5Version = 5;
constexpr std::uint32_t kMaxColumns = 16, kMaxUnits = 1 << 20;
constexpr std::uint64_t kIndexHeaderSize = 16;

// The name of a section, and its number in the index, by version of the format.
struct PackageSectionNumbers {
  std::string_view name;
  std::uint32_t gnu_number, dwarf5_number;  // 0: none
};
// In the order of PackageSection.
constexpr std::array<PackageSectionNumbers, 5> kPackageSections{
    PackageSectionNumbers{".debug_info", 1, 1},
    {".debug_abbrev", 3, 3},
    {".debug_line", 4, 4},
    {".debug_str_offsets", 6, 6},
    {".debug_rnglists", 0, 8}};

const PackageSectionNumbers& get_numbers(PackageSection section) {
  return kPackageSections[static_cast<std::size_t>(section)];
}

}  // namespace

std::string_view get_section_name(PackageSection section) { return get_numbers(section).name; }

// The index begins with its version and the numbers of columns, units and slots. A hash table of
// units follows, then a table with the locations of their sections.
PackageIndex::PackageIndex(std::string_view bytes) : bytes_(bytes) {
  ByteCursor header(bytes);
  version_ = header.get<std::uint32_t>() & 0xffff;
  columns_ = header.get<std::uint32_t>();
  units_ = header.get<std::uint32_t>();
  slots_ = header.get<std::uint32_t>();
  const bool is_known = version_ == kGnuVersion || version_ == kDwarf5Version;
  if (!header.ok() || !is_known || columns_ > kMaxColumns || units_ > kMaxUnits ||
      slots_ > 2 * kMaxUnits)
    columns_ = units_ = slots_ = 0;
}

std::uint32_t PackageIndex::find_row(std::uint64_t id) const {
  for (std::uint64_t slot = 0; slot < slots_; ++slot)
    if (read_number<std::uint64_t>(kIndexHeaderSize + 8 * slot) == id) {
      const auto row = read_number<std::uint32_t>(kIndexHeaderSize + 8ULL * slots_ + 4 * slot);
      if (row != 0 && row <= units_) return row;
    }
  return 0;
}

std::optional<PackageIndex::SectionPart> PackageIndex::find_section_part(
    std::uint32_t row, PackageSection section) const {
  const PackageSectionNumbers& numbers = get_numbers(section);
  const std::uint32_t number = version_ == kGnuVersion ? numbers.gnu_number : numbers.dwarf5_number;
  const std::uint64_t columns_at = kIndexHeaderSize + 12ULL * slots_;
  for (std::uint64_t column = 0; column < columns_; ++column) {
    if (number == 0 || read_number<std::uint32_t>(columns_at + 4 * column) != number) continue;
    const std::uint64_t cell = 4 * (std::uint64_t{row} * columns_ + column);
    const std::uint64_t sizes = 4 * std::uint64_t{units_} * columns_;
    return SectionPart{read_number<std::uint32_t>(columns_at + cell),
                       read_number<std::uint32_t>(columns_at + cell + sizes)};
  }
  return std::nullopt;
}

template <class T>
T PackageIndex::read_number(std::uint64_t at) const {
  return ByteCursor(bytes_, at).get<T>();
}

}  // namespace ctprof
