#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"

#include <endian.h>

#include <cstring>
#include <vector>

namespace ctprof::jemalloc {

namespace {

constexpr std::uint64_t kInvalidSize = UINT64_MAX;

// Old compressed sections start with "ZLIB" and the size, most significant byte first.
std::uint64_t read_old_unpacked_size(const ElfFile& file, const Elf64_Shdr& section) {
  std::uint64_t size = 0;
  return file.read(section.sh_offset + 4, &size, sizeof size) ? be64toh(size) : kInvalidSize;
}

std::uint64_t read_unpacked_size(const ElfFile& file, const NamedSection& section) {
  if (section.name.starts_with(".zdebug")) return read_old_unpacked_size(file, section.header);
  if ((section.header.sh_flags & SHF_COMPRESSED) == 0) return section.header.sh_size;
  Elf64_Chdr compressed{};
  return file.read(section.header.sh_offset, &compressed, sizeof compressed) ? compressed.ch_size
                                                                             : kInvalidSize;
}

std::uint64_t add_saturated(std::uint64_t a, std::uint64_t b) {
  return a > kInvalidSize - b ? kInvalidSize : a + b;
}

}  // namespace

bool is_debug_section(std::string_view name) {
  return name.starts_with(".debug") || name.starts_with(".zdebug");
}

DebugSections find_debug_sections(const ElfFile& file) {
  DebugSections found;
  for (const NamedSection& section : file.named_sections()) {
    if (!is_debug_section(section.name) && (section.header.sh_flags & SHF_COMPRESSED) == 0)
      continue;
    found.bytes = add_saturated(found.bytes, read_unpacked_size(file, section));
    found.has_info = found.has_info || section.name.starts_with(".debug_info") ||
                     section.name.starts_with(".zdebug_info");
    found.is_package = found.is_package || section.name == ".debug_cu_index";
  }
  return found;
}

namespace {

// jemalloc has about seventy units; packages of large programs are searched only up to this limit.
constexpr std::uint32_t kMaxUnits = 4096;
constexpr std::uint32_t kMaxColumns = 16;
constexpr std::uint64_t kMaxSection = 64ULL << 20;

constexpr const char* kIndex = ".debug_cu_index";
constexpr const char* kTexts = ".debug_str.dwo";

// Returns the sections that describe types, by their numbers in the index; other numbers are for
// line tables, locations and macros.
const char* find_section_name(std::uint32_t number) {
  switch (number) {
    case 1: return ".debug_info.dwo";
    case 3: return ".debug_abbrev.dwo";
    case 6: return ".debug_str_offsets.dwo";
    default: return nullptr;
  }
}

std::string read_section(const ElfFile& file, const Elf64_Shdr& header) {
  const auto bytes = file.table<char>(header.sh_offset, header.sh_size, kMaxSection);
  return {bytes.begin(), bytes.end()};
}

template <class T>
void append_bytes(std::string& image, const T& item) {
  image.append(reinterpret_cast<const char*>(&item), sizeof item);
}

// An ELF file that contains only sections.
class ElfImage {
 public:
  void add(const std::string& name, std::uint32_t type, const std::string& bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names_.size());
    header.sh_type = type;
    header.sh_offset = sizeof(Elf64_Ehdr) + body_.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    headers_.push_back(header);
    names_ += name + '\0';
    body_ += bytes;
  }

  std::string build(std::uint16_t machine) {
    const std::string section_name_table = ".shstrtab";
    add(section_name_table, SHT_STRTAB, names_ + section_name_table + '\0');
    body_.resize((body_.size() + 7) / 8 * 8);
    std::string image;
    append_bytes(image, make_header(machine));
    image += body_;
    for (const Elf64_Shdr& header : headers_) append_bytes(image, header);
    return image;
  }

 private:
  Elf64_Ehdr make_header(std::uint16_t machine) const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof header + body_.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(headers_.size() - 1);
    return header;
  }

  std::string names_ = std::string(1, '\0');
  std::string body_;
  std::vector<Elf64_Shdr> headers_ = std::vector<Elf64_Shdr>(1);
};

}  // namespace

// Parses the index: its version, columns, units and slots; a hash table and its row numbers, which
// are not needed; the rows.
DwpUnits::DwpUnits(const ElfFile& file) : machine_(file.machine()) {
  for (const NamedSection& section : file.named_sections()) {
    if (section.name.ends_with(".dwo"))
      sections_[section.name] = read_section(file, section.header);
    if (section.name == kIndex) index_ = read_section(file, section.header);
  }
  columns_ = read_number(4);
  const std::uint32_t units = read_number(8);
  const std::uint64_t slots = read_number(12);
  rows_ = 16 + slots * 12;
  if (columns_ <= kMaxColumns && units <= kMaxUnits) units_ = units;
}

// Returns zero beyond the end.
std::uint32_t DwpUnits::read_number(std::uint64_t offset) const {
  std::uint32_t value = 0;
  if (offset <= index_.size() && index_.size() - offset >= sizeof value)
    std::memcpy(&value, index_.data() + offset, sizeof value);
  return value;
}

std::uint32_t DwpUnits::read_cell(std::uint64_t row, std::uint32_t column) const {
  return read_number(rows_ + 4 * (row * columns_ + column));
}

bool DwpUnits::add_part(std::uint32_t unit, std::uint32_t column, Sections& parts) const {
  const char* name = find_section_name(read_cell(0, column));
  const auto section = name == nullptr ? sections_.end() : sections_.find(name);
  if (section == sections_.end()) return true;
  const std::uint64_t offset = read_cell(1ULL + unit, column);
  const std::uint64_t size = read_cell(1ULL + units_ + unit, column);
  if (offset > section->second.size() || size > section->second.size() - offset) return false;
  parts[name] = section->second.substr(offset, size);
  return true;
}

// Contains the unit's parts of the sections, and the texts, which all units share.
std::string DwpUnits::build_image(std::uint32_t unit) const {
  Sections parts;
  for (std::uint32_t column = 0; column < columns_; ++column)
    if (!add_part(unit, column, parts)) return {};
  if (const auto texts = sections_.find(kTexts); texts != sections_.end()) parts.insert(*texts);
  ElfImage image;
  for (const auto& [name, bytes] : parts) image.add(name, SHT_PROGBITS, bytes);
  return image.build(machine_);
}

}  // namespace ctprof::jemalloc
