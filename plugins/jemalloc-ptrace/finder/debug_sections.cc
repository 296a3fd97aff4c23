#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"

#include <endian.h>

#include <cstring>
#include <vector>

namespace ctprof::jemalloc {

namespace {

constexpr std::uint64_t kUnbelievable = UINT64_MAX;

// Old compressed sections start with "ZLIB" and the size, most significant byte first.
std::uint64_t size_of_old(const ElfFile& file, const Elf64_Shdr& section) {
  std::uint64_t size = 0;
  return file.read(section.sh_offset + 4, &size, sizeof size) ? be64toh(size) : kUnbelievable;
}

std::uint64_t unpacked_size(const ElfFile& file, const NamedSection& section) {
  if (section.name.starts_with(".zdebug")) return size_of_old(file, section.header);
  if ((section.header.sh_flags & SHF_COMPRESSED) == 0) return section.header.sh_size;
  Elf64_Chdr compressed{};
  return file.read(section.header.sh_offset, &compressed, sizeof compressed) ? compressed.ch_size
                                                                             : kUnbelievable;
}

std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return a > kUnbelievable - b ? kUnbelievable : a + b;
}

}  // namespace

bool is_debug_section(std::string_view name) {
  return name.starts_with(".debug") || name.starts_with(".zdebug");
}

DebugSections debug_sections(const ElfFile& file) {
  DebugSections found;
  for (const NamedSection& section : file.named_sections()) {
    if (!is_debug_section(section.name) && (section.header.sh_flags & SHF_COMPRESSED) == 0)
      continue;
    found.bytes = capped_sum(found.bytes, unpacked_size(file, section));
    found.info = found.info || section.name.starts_with(".debug_info") ||
                 section.name.starts_with(".zdebug_info");
    found.packed = found.packed || section.name == ".debug_cu_index";
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
const char* section_name(std::uint32_t number) {
  switch (number) {
    case 1: return ".debug_info.dwo";
    case 3: return ".debug_abbrev.dwo";
    case 6: return ".debug_str_offsets.dwo";
    default: return nullptr;
  }
}

std::string content(const ElfFile& file, const Elf64_Shdr& header) {
  const auto bytes = file.table<char>(header.sh_offset, header.sh_size, kMaxSection);
  return {bytes.begin(), bytes.end()};
}

template <class T>
void append(std::string& image, const T& item) {
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

  std::string finish(std::uint16_t machine) {
    const std::string own = ".shstrtab";
    add(own, SHT_STRTAB, names_ + own + '\0');
    body_.resize((body_.size() + 7) / 8 * 8);
    std::string image;
    append(image, head(machine));
    image += body_;
    for (const Elf64_Shdr& header : headers_) append(image, header);
    return image;
  }

 private:
  Elf64_Ehdr head(std::uint16_t machine) const {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_REL;
    head.e_machine = machine;
    head.e_version = EV_CURRENT;
    head.e_shoff = sizeof head + body_.size();
    head.e_ehsize = sizeof head;
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = static_cast<std::uint16_t>(headers_.size());
    head.e_shstrndx = static_cast<std::uint16_t>(headers_.size() - 1);
    return head;
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
    if (section.name.ends_with(".dwo")) sections_[section.name] = content(file, section.header);
    if (section.name == kIndex) index_ = content(file, section.header);
  }
  columns_ = number(4);
  const std::uint32_t units = number(8);
  const std::uint64_t slots = number(12);
  rows_ = 16 + slots * 12;
  if (columns_ <= kMaxColumns && units <= kMaxUnits) units_ = units;
}

// Returns zero beyond the end.
std::uint32_t DwpUnits::number(std::uint64_t at) const {
  std::uint32_t value = 0;
  if (at <= index_.size() && index_.size() - at >= sizeof value)
    std::memcpy(&value, index_.data() + at, sizeof value);
  return value;
}

std::uint32_t DwpUnits::cell(std::uint64_t row, std::uint32_t column) const {
  return number(rows_ + 4 * (row * columns_ + column));
}

bool DwpUnits::add_share(std::uint32_t unit, std::uint32_t column, Sections& shares) const {
  const char* name = section_name(cell(0, column));
  const auto whole = name == nullptr ? sections_.end() : sections_.find(name);
  if (whole == sections_.end()) return true;
  const std::uint64_t offset = cell(1ULL + unit, column);
  const std::uint64_t size = cell(1ULL + units_ + unit, column);
  if (offset > whole->second.size() || size > whole->second.size() - offset) return false;
  shares[name] = whole->second.substr(offset, size);
  return true;
}

// Contains the unit's parts of the sections, and the texts, which all units share.
std::string DwpUnits::image(std::uint32_t unit) const {
  Sections shares;
  for (std::uint32_t column = 0; column < columns_; ++column)
    if (!add_share(unit, column, shares)) return {};
  if (const auto texts = sections_.find(kTexts); texts != sections_.end()) shares.insert(*texts);
  ElfImage image;
  for (const auto& [name, bytes] : shares) image.add(name, SHT_PROGBITS, bytes);
  return image.finish(machine_);
}

}  // namespace ctprof::jemalloc
