#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"

#include <array>
#include <utility>
#include <vector>

#include "core/elf/debug_sections.hpp"
#include "core/elf/elf_image.hpp"
#include "core/elf/package_index.hpp"

namespace ctprof::jemalloc {

namespace {

std::uint64_t add_saturated(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

DebugSections find_debug_sections(const ElfFile& file) {
  DebugSections found;
  for (const NamedSection& section : file.named_sections()) {
    if (!is_debug_section(section.name) && (section.header.sh_flags & SHF_COMPRESSED) == 0)
      continue;
    found.bytes = add_saturated(found.bytes, get_unpacked_size(file, section.header));
    found.has_info = found.has_info || section.name.starts_with(".debug_info") ||
                     section.name.starts_with(".zdebug_info");
    found.is_package = found.is_package || section.name == ".debug_cu_index";
  }
  return found;
}

namespace {

// jemalloc has about seventy units; packages of large programs are searched only up to this limit.
constexpr std::uint32_t kMaxUnits = 4096;
constexpr std::uint64_t kMaxSection = 64ULL << 20;

constexpr const char* kIndex = ".debug_cu_index";
constexpr const char* kTexts = ".debug_str.dwo";

// The sections that describe types; others are line tables, locations and macros.
constexpr std::array kTypeSections{PackageSection::Info, PackageSection::Abbrev,
                                   PackageSection::StrOffsets};

}  // namespace

DwpUnits::DwpUnits(const ElfFile& file) : machine_(file.machine()) {
  for (const NamedSection& section : file.named_sections()) {
    const auto read = [&] {
      return file.read_bytes(section.header.sh_offset, section.header.sh_size, kMaxSection);
    };
    if (section.name.ends_with(".dwo")) sections_[section.name] = read();
    if (section.name == kIndex) index_ = read();
  }
}

std::uint32_t DwpUnits::size() const {
  const std::uint32_t units = PackageIndex(index_).row_count();
  return units <= kMaxUnits ? units : 0;
}

// Contains the unit's parts of the sections, and the texts, which all units share.
std::string DwpUnits::build_image(std::uint32_t unit) const {
  const PackageIndex index(index_);
  std::vector<std::pair<std::string, std::string>> parts;
  for (const PackageSection kind : kTypeSections) {
    const std::string name = std::string(get_section_name(kind)) + ".dwo";
    const auto section = sections_.find(name);
    const auto part = index.find_section_part(unit + 1, kind);
    if (!part || section == sections_.end()) continue;
    const std::string& bytes = section->second;
    if (part->offset > bytes.size() || part->size > bytes.size() - part->offset) return {};
    parts.emplace_back(name, bytes.substr(part->offset, part->size));
  }
  if (const auto texts = sections_.find(kTexts); texts != sections_.end()) parts.push_back(*texts);
  return build_elf_image(machine_, parts);
}

}  // namespace ctprof::jemalloc
