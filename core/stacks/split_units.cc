#include "core/stacks/split_units.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

// A section that is needed for inlined functions, and its number in the index of a package, by
// version of the format.
struct PartKind {
  std::string_view name;
  std::uint32_t in_gnu, in_dwarf5;  // 0: none
};
constexpr std::array<PartKind, 5> kParts{PartKind{".debug_info", 1, 1},
                                         {".debug_abbrev", 3, 3},
                                         {".debug_line", 4, 4},
                                         {".debug_str_offsets", 6, 6},
                                         {".debug_rnglists", 0, 8}};
constexpr std::string_view kTexts = ".debug_str";
constexpr std::uint32_t kGnuVersion = 2, kDwarf5Version = 5;
constexpr std::uint32_t kMostColumns = 16, kMostUnits = 1 << 20;

std::string slice(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() ? std::string(bytes.substr(at, size)) : std::string();
}

std::string directory_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

// The index of a package: a hash table of units, then a table with the locations of their sections.
class PackageIndex {
 public:
  explicit PackageIndex(std::string_view bytes) : bytes_(bytes) {
    ByteCursor header(bytes);
    version_ = header.get<std::uint32_t>() & 0xffff;
    columns_ = header.get<std::uint32_t>();
    units_ = header.get<std::uint32_t>();
    slots_ = header.get<std::uint32_t>();
    const bool is_known = version_ == kGnuVersion || version_ == kDwarf5Version;
    if (!header.ok() || !is_known || columns_ > kMostColumns || units_ > kMostUnits ||
        slots_ > 2 * kMostUnits)
      slots_ = 0;
  }

  // Returns the row of a unit, counted from 1; 0 if the unit is missing.
  std::uint32_t row_of(std::uint64_t id) const {
    for (std::uint64_t slot = 0; slot < slots_; ++slot)
      if (number<std::uint64_t>(kHeader + 8 * slot) == id) {
        const auto row = number<std::uint32_t>(kHeader + 8ULL * slots_ + 4 * slot);
        if (row != 0 && row <= units_) return row;
      }
    return 0;
  }
  struct Place {
    std::uint64_t offset, size;
  };
  std::optional<Place> place_of(std::uint32_t row, const PartKind& part) const {
    const std::uint32_t wanted = version_ == kGnuVersion ? part.in_gnu : part.in_dwarf5;
    const std::uint64_t columns_at = kHeader + 12ULL * slots_;
    for (std::uint64_t column = 0; column < columns_; ++column) {
      if (wanted == 0 || number<std::uint32_t>(columns_at + 4 * column) != wanted) continue;
      const std::uint64_t cell = 4 * (std::uint64_t{row} * columns_ + column);
      const std::uint64_t sizes = 4 * std::uint64_t{units_} * columns_;
      return Place{number<std::uint32_t>(columns_at + cell),
                   number<std::uint32_t>(columns_at + cell + sizes)};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kHeader = 16;

  template <class T>
  T number(std::uint64_t at) const {
    return ByteCursor(bytes_, at).get<T>();
  }

  std::string_view bytes_;
  std::uint32_t version_ = 0, columns_ = 0, units_ = 0, slots_ = 0;
};

}  // namespace

SplitUnits::SplitUnits(const ElfFile& program, Open open, std::string path)
    : program_(program), open_(std::move(open)), path_(std::move(path)) {}

std::unique_ptr<MemoryElf> SplitUnits::open(const SplitUnit& unit) {
  if (!open_) return nullptr;
  Parts parts = parts_in_package(unit);
  if (parts.empty()) parts = parts_in_file(unit);
  if (parts.empty()) return nullptr;
  parts.emplace_back(".debug_addr", section_from(".debug_addr", unit.addresses_at));
  parts.emplace_back(".debug_ranges", section_from(".debug_ranges", unit.ranges_at));
  std::erase_if(parts, [](const auto& part) { return part.second.empty(); });
  return elf_of(program_.machine(), parts);
}

// Empty if the section is missing or the limit is exceeded.
std::string SplitUnits::section(const ElfFile& file, const std::string& name) {
  const auto found = file.section(name);
  if (!found || found->sh_type == SHT_NOBITS || found->sh_size > left_) return {};
  std::string bytes = file.bytes(found->sh_offset, found->sh_size, left_);
  if ((found->sh_flags & SHF_COMPRESSED) != 0) bytes = unpacked_section(bytes, left_);
  left_ -= std::min<std::uint64_t>(left_, bytes.size());
  return bytes;
}

std::string SplitUnits::section_from(const char* name, std::uint64_t at) {
  const std::string bytes = section(program_, name);
  return slice(bytes, at, bytes.size());
}

void SplitUnits::read_package() {
  has_read_package_ = true;
  package_ = std::make_unique<File>(open_(path_ + ".dwp"));
  if (!package_->elf.is_valid()) return;
  index_ = section(package_->elf, ".debug_cu_index");
  if (index_.empty()) return;
  for (const PartKind& part : kParts)
    package_sections_.emplace_back(part.name,
                                   section(package_->elf, std::string(part.name) + ".dwo"));
  package_sections_.emplace_back(kTexts, section(package_->elf, std::string(kTexts) + ".dwo"));
}

SplitUnits::Parts SplitUnits::parts_in_package(const SplitUnit& unit) {
  if (!has_read_package_ && !path_.empty()) read_package();
  const PackageIndex index(index_);
  const std::uint32_t row = index.row_of(unit.id);
  if (row == 0) return {};
  Parts parts;
  for (std::size_t i = 0; i < kParts.size(); ++i)
    if (const auto place = index.place_of(row, kParts[i]))
      parts.emplace_back(kParts[i].name,
                         slice(package_sections_[i].second, place->offset, place->size));
  parts.push_back(package_sections_.back());
  for (const auto& [name, bytes] : parts) left_ -= std::min<std::uint64_t>(left_, bytes.size());
  return left_ == 0 ? Parts() : parts;
}

SplitUnits::Parts SplitUnits::parts_in_file(const SplitUnit& unit) {
  if (unit.name.empty()) return {};
  std::vector<std::string> places{unit.name};
  if (!unit.name.starts_with('/'))
    places = {unit.directory + '/' + unit.name, directory_of(path_) + unit.name};
  places.push_back(directory_of(path_) + unit.name.substr(unit.name.rfind('/') + 1));
  for (const std::string& place : places) {
    if (!place.starts_with('/')) continue;
    const File file(open_(place));
    std::string info = section(file.elf, ".debug_info.dwo");
    if (info.empty()) continue;
    Parts parts{{".debug_info", std::move(info)}};
    for (const PartKind& part : kParts)
      if (part.name != ".debug_info")
        parts.emplace_back(part.name, section(file.elf, std::string(part.name) + ".dwo"));
    parts.emplace_back(kTexts, section(file.elf, std::string(kTexts) + ".dwo"));
    return parts;
  }
  return {};
}

}  // namespace ctprof
