#include "core/elf/elf_image.hpp"

#include <cstring>

namespace ctprof {
namespace {

Elf64_Ehdr make_image_header(std::uint16_t machine, std::size_t section_count) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shnum = static_cast<std::uint16_t>(section_count);
  header.e_shstrndx = static_cast<std::uint16_t>(section_count - 1);
  return header;
}

Elf64_Shdr make_image_section(std::uint32_t type, std::size_t name) {
  Elf64_Shdr section{};
  section.sh_name = static_cast<std::uint32_t>(name);
  section.sh_type = type;
  section.sh_addralign = 1;
  return section;
}

}  // namespace

ElfImageBuilder::ElfImageBuilder(const Elf64_Ehdr& header) : header_(header) {
  image_.resize(sizeof header);
}

void ElfImageBuilder::align() {
  constexpr std::size_t kAlignment = 16;
  image_.resize((image_.size() + kAlignment - 1) / kAlignment * kAlignment);
}

void ElfImageBuilder::add(Elf64_Shdr section, std::string_view bytes) {
  align();
  section.sh_offset = image_.size();
  section.sh_size = bytes.size();
  image_ += bytes;
  sections_.push_back(section);
}

void ElfImageBuilder::add(Elf64_Shdr section) {
  if (section.sh_type != SHT_NULL) section.sh_type = SHT_NOBITS;
  sections_.push_back(section);
}

std::string ElfImageBuilder::take() && {
  align();
  header_.e_phoff = header_.e_phnum = 0;
  header_.e_shoff = image_.size();
  header_.e_shentsize = sizeof(Elf64_Shdr);
  image_.append(reinterpret_cast<const char*>(sections_.data()),
                sections_.size() * sizeof(Elf64_Shdr));
  std::memcpy(image_.data(), &header_, sizeof header_);
  return std::move(image_);
}

std::string build_elf_image(std::uint16_t machine,
                            const std::vector<std::pair<std::string, std::string>>& sections) {
  ElfImageBuilder image(make_image_header(machine, sections.size() + 2));
  std::string names(1, '\0');
  image.add(Elf64_Shdr{});
  for (const auto& [name, bytes] : sections) {
    image.add(make_image_section(SHT_PROGBITS, names.size()), bytes);
    names += name + '\0';
  }
  const Elf64_Shdr last = make_image_section(SHT_STRTAB, names.size());
  image.add(last, names += std::string(".shstrtab") + '\0');
  return std::move(image).take();
}

}  // namespace ctprof
