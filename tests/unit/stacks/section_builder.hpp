// Adds sections and symbol lists to an ELF image (elf_builder.hpp).

#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/stacks/elf_builder.hpp"

namespace ctprof::tests {

struct TestSymbol {
  std::string name;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  unsigned binding = STB_GLOBAL;
  unsigned visibility = STV_DEFAULT;
  bool is_old_version = false;  // of .dynsym: not the default version
};

// Section headers of a file. The last section contains the names of the sections.
class SectionHeaders {
 public:
  // Returns the number of the section.
  std::uint32_t add(std::string_view name, Elf64_Shdr header) {
    header.sh_name = static_cast<Elf64_Word>(names_.size());
    headers_.push_back(header);
    names_ += std::string(name) + '\0';
    return static_cast<std::uint32_t>(headers_.size() - 1);
  }
  // Returns the image with the section headers appended.
  std::string append_to(std::string image) const {
    std::vector<Elf64_Shdr> headers = headers_;
    Elf64_Shdr of_names{};
    of_names.sh_type = SHT_STRTAB;
    of_names.sh_offset = image.size();
    of_names.sh_size = names_.size();
    headers.push_back(of_names);
    image += names_;
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    header.e_shoff = image.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers.size());
    header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    image.replace(0, sizeof header, bytes_of(header));
    for (const Elf64_Shdr& one : headers) image += bytes_of(one);
    return image;
  }

 private:
  std::vector<Elf64_Shdr> headers_;
  std::string names_ = std::string(1, '\0');
};

class SectionBuilder {
 public:
  // Section 1 covers the whole image.
  explicit SectionBuilder(std::string image) : image_(std::move(image)) {
    headers_.add("", {});
    Elf64_Shdr text = header(SHT_PROGBITS, 0);
    text.sh_size = image_.size();
    headers_.add(".text", text);
  }

  // Appends a section with these bytes; returns its number.
  std::uint32_t add_section(std::string_view name, std::uint32_t type, std::string_view bytes,
                            std::uint32_t link = 0) {
    Elf64_Shdr added = header(type, link);
    added.sh_offset = image_.size();
    added.sh_size = bytes.size();
    image_ += bytes;
    return headers_.add(name, added);
  }
  // Appends a section that is a part of the image, where addresses equal offsets.
  void add_part(std::string_view name, std::uint64_t start, std::uint64_t size,
                std::string_view bytes) {
    image_.replace(start, bytes.size(), bytes);
    Elf64_Shdr added = header(SHT_PROGBITS, 0);
    added.sh_addr = added.sh_offset = start;
    added.sh_size = size;
    headers_.add(name, added);
  }
  // Appends a list of functions, .symtab or .dynsym; returns its number. Symbol 0 is undefined.
  std::uint32_t add_symbol_list(std::uint32_t type, const std::vector<TestSymbol>& symbols) {
    std::string list = bytes_of(Elf64_Sym{}), names(1, '\0'), versions = bytes_of(Elf64_Half{0});
    for (const TestSymbol& symbol : symbols) {
      list += bytes_of(Elf64_Sym{static_cast<Elf64_Word>(names.size()),
                                 static_cast<unsigned char>(symbol.binding << 4 | STT_FUNC),
                                 static_cast<unsigned char>(symbol.visibility), kText, symbol.start,
                                 symbol.size});
      names += symbol.name + '\0';
      versions += bytes_of(static_cast<Elf64_Half>(symbol.is_old_version ? 0x8002 : 2));
    }
    const bool is_whole = type == SHT_SYMTAB;
    const std::uint32_t texts = add_section(is_whole ? ".strtab" : ".dynstr", SHT_STRTAB, names);
    const std::uint32_t number = add_section(is_whole ? ".symtab" : ".dynsym", type, list, texts);
    if (!is_whole) add_section(".gnu.version", SHT_GNU_versym, versions, number);
    return number;
  }

  std::string image() const { return headers_.append_to(image_); }

 private:
  static constexpr Elf64_Half kText = 1;

  static Elf64_Shdr header(std::uint32_t type, std::uint32_t link) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_link = link;
    return header;
  }

  std::string image_;
  SectionHeaders headers_;
};

}  // namespace ctprof::tests
