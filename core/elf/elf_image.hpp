// Builds the bytes of ELF files that contain only sections, for readers such as libdw.

#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctprof {

// Builds a header, the sections one after another, then the section table.
class ElfImageBuilder {
 public:
  // The header contains the number of sections and that of the section with their names.
  explicit ElfImageBuilder(const Elf64_Ehdr& header);

  std::size_t size() const { return image_.size(); }
  void add(Elf64_Shdr section, std::string_view bytes);
  // Adds a section without contents.
  void add(Elf64_Shdr section);

  std::string take() &&;

 private:
  void align();

  Elf64_Ehdr header_;
  std::string image_;
  std::vector<Elf64_Shdr> sections_;
};

// Builds a file from named sections.
std::string build_elf_image(std::uint16_t machine,
                            const std::vector<std::pair<std::string, std::string>>& sections);

}  // namespace ctprof
