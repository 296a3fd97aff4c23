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
struct SectionKindNumbers {
  std::string_view name;
  std::uint32_t gnu_number, dwarf5_number;  // 0: none
};
constexpr std::array<SectionKindNumbers, 5> kUnitSections{SectionKindNumbers{".debug_info", 1, 1},
                                                          {".debug_abbrev", 3, 3},
                                                          {".debug_line", 4, 4},
                                                          {".debug_str_offsets", 6, 6},
                                                          {".debug_rnglists", 0, 8}};
constexpr std::string_view kStringSection = ".debug_str";
constexpr std::uint32_t kGnuVersion = 2, kDwarf5Version = 5;
constexpr std::uint32_t kMaxColumns = 16, kMaxUnits = 1 << 20;

std::string slice(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() ? std::string(bytes.substr(at, size)) : std::string();
}

std::string get_directory(std::string_view path) {
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
    if (!header.ok() || !is_known || columns_ > kMaxColumns || units_ > kMaxUnits ||
        slots_ > 2 * kMaxUnits)
      slots_ = 0;
  }

  // Returns the row of a unit, counted from 1; 0 if the unit is missing.
  std::uint32_t find_row(std::uint64_t id) const {
    for (std::uint64_t slot = 0; slot < slots_; ++slot)
      if (read_number<std::uint64_t>(kHeader + 8 * slot) == id) {
        const auto row = read_number<std::uint32_t>(kHeader + 8ULL * slots_ + 4 * slot);
        if (row != 0 && row <= units_) return row;
      }
    return 0;
  }
  struct SectionPart {
    std::uint64_t offset, size;
  };
  std::optional<SectionPart> find_section_part(std::uint32_t row,
                                               const SectionKindNumbers& part) const {
    const std::uint32_t number_in_index =
        version_ == kGnuVersion ? part.gnu_number : part.dwarf5_number;
    const std::uint64_t columns_at = kHeader + 12ULL * slots_;
    for (std::uint64_t column = 0; column < columns_; ++column) {
      if (number_in_index == 0 ||
          read_number<std::uint32_t>(columns_at + 4 * column) != number_in_index)
        continue;
      const std::uint64_t cell = 4 * (std::uint64_t{row} * columns_ + column);
      const std::uint64_t sizes = 4 * std::uint64_t{units_} * columns_;
      return SectionPart{read_number<std::uint32_t>(columns_at + cell),
                         read_number<std::uint32_t>(columns_at + cell + sizes)};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kHeader = 16;

  template <class T>
  T read_number(std::uint64_t at) const {
    return ByteCursor(bytes_, at).get<T>();
  }

  std::string_view bytes_;
  std::uint32_t version_ = 0, columns_ = 0, units_ = 0, slots_ = 0;
};

}  // namespace

SplitUnits::SplitUnits(const ElfFile& program, Open open, std::string path)
    : program_(program), open_(std::move(open)), program_path_(std::move(path)) {}

std::unique_ptr<MemoryElf> SplitUnits::open(const SplitUnit& unit) {
  if (!open_) return nullptr;
  NamedSections parts = read_from_package(unit);
  if (parts.empty()) parts = read_from_file(unit);
  if (parts.empty()) return nullptr;
  parts.emplace_back(".debug_addr", read_section_from(".debug_addr", unit.addresses_offset));
  parts.emplace_back(".debug_ranges", read_section_from(".debug_ranges", unit.ranges_offset));
  std::erase_if(parts, [](const auto& part) { return part.second.empty(); });
  return build_elf(program_.machine(), parts);
}

// Empty if the section is missing or the limit is exceeded.
std::string SplitUnits::read_section(const ElfFile& file, const std::string& name) {
  const auto found = file.section(name);
  if (!found || found->sh_type == SHT_NOBITS || found->sh_size > remaining_bytes_) return {};
  std::string bytes = file.read_bytes(found->sh_offset, found->sh_size, remaining_bytes_);
  if ((found->sh_flags & SHF_COMPRESSED) != 0) bytes = unpack_section(bytes, remaining_bytes_);
  remaining_bytes_ -= std::min<std::uint64_t>(remaining_bytes_, bytes.size());
  return bytes;
}

std::string SplitUnits::read_section_from(const char* name, std::uint64_t at) {
  const std::string bytes = read_section(program_, name);
  return slice(bytes, at, bytes.size());
}

void SplitUnits::read_package() {
  has_read_package_ = true;
  package_ = std::make_unique<File>(open_(program_path_ + ".dwp"));
  if (!package_->elf.is_valid()) return;
  index_ = read_section(package_->elf, ".debug_cu_index");
  if (index_.empty()) return;
  for (const SectionKindNumbers& part : kUnitSections)
    package_sections_.emplace_back(part.name,
                                   read_section(package_->elf, std::string(part.name) + ".dwo"));
  package_sections_.emplace_back(kStringSection,
                                 read_section(package_->elf, std::string(kStringSection) + ".dwo"));
}

SplitUnits::NamedSections SplitUnits::read_from_package(const SplitUnit& unit) {
  if (!has_read_package_ && !program_path_.empty()) read_package();
  const PackageIndex index(index_);
  const std::uint32_t row = index.find_row(unit.id);
  if (row == 0) return {};
  NamedSections parts;
  for (std::size_t i = 0; i < kUnitSections.size(); ++i)
    if (const auto place = index.find_section_part(row, kUnitSections[i]))
      parts.emplace_back(kUnitSections[i].name,
                         slice(package_sections_[i].second, place->offset, place->size));
  parts.push_back(package_sections_.back());
  for (const auto& [name, bytes] : parts)
    remaining_bytes_ -= std::min<std::uint64_t>(remaining_bytes_, bytes.size());
  return remaining_bytes_ == 0 ? NamedSections() : parts;
}

SplitUnits::NamedSections SplitUnits::read_from_file(const SplitUnit& unit) {
  if (unit.name.empty()) return {};
  std::vector<std::string> paths{unit.name};
  if (!unit.name.starts_with('/'))
    paths = {unit.directory + '/' + unit.name, get_directory(program_path_) + unit.name};
  paths.push_back(get_directory(program_path_) + unit.name.substr(unit.name.rfind('/') + 1));
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) continue;
    const File file(open_(path));
    std::string info = read_section(file.elf, ".debug_info.dwo");
    if (info.empty()) continue;
    NamedSections parts{{".debug_info", std::move(info)}};
    for (const SectionKindNumbers& part : kUnitSections)
      if (part.name != ".debug_info")
        parts.emplace_back(part.name, read_section(file.elf, std::string(part.name) + ".dwo"));
    parts.emplace_back(kStringSection,
                       read_section(file.elf, std::string(kStringSection) + ".dwo"));
    return parts;
  }
  return {};
}

}  // namespace ctprof
