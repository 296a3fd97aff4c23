#include "core/stacks/split_units.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "core/elf/elf_image.hpp"
#include "core/elf/package_index.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

// The sections that are needed for inlined functions.
constexpr std::array kUnitSections{PackageSection::Info, PackageSection::Abbrev,
                                   PackageSection::Line, PackageSection::StrOffsets,
                                   PackageSection::RngLists};
constexpr std::string_view kStringSection = ".debug_str";

std::string slice(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() ? std::string(bytes.substr(at, size)) : std::string();
}

std::string get_directory(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

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
  return std::make_unique<MemoryElf>(build_elf_image(program_.machine(), parts));
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
  for (const PackageSection part : kUnitSections)
    package_sections_.emplace_back(
        get_section_name(part),
        read_section(package_->elf, std::string(get_section_name(part)) + ".dwo"));
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
      parts.emplace_back(get_section_name(kUnitSections[i]),
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
    for (const PackageSection part : kUnitSections)
      if (const std::string name(get_section_name(part)); part != PackageSection::Info)
        parts.emplace_back(name, read_section(file.elf, name + ".dwo"));
    parts.emplace_back(kStringSection,
                       read_section(file.elf, std::string(kStringSection) + ".dwo"));
    return parts;
  }
  return {};
}

}  // namespace ctprof
