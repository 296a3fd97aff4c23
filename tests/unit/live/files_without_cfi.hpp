// Hides the call frame information of ELF files from the Unwinder, so that it must guess frames
// whose truth another unwinder knows.

#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "ctprof/files.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof {

// Returns whether CTPROF_STACKS_WITHOUT_CFI='NAME ...' contains the name of the file.
inline bool hides_cfi(const std::string& path) {
  const char* value = std::getenv("CTPROF_STACKS_WITHOUT_CFI");
  std::istringstream names(value ? value : "");
  const std::string name = std::filesystem::path(path).filename();
  return std::count(std::istream_iterator<std::string>(names), {}, name) > 0;
}

// Returns a copy in memory without the segment that leads to call frame information, and without
// sections, which are another way to it. Everything else is at the same place. Throws
// std::runtime_error if it is not an ELF file.
inline sdk::Fd copy_without_cfi(const std::string& path) {
  std::string image = file_text(path);
  Elf64_Ehdr header{};
  if (image.size() < sizeof header) throw std::runtime_error("not an ELF file: " + path);
  std::memcpy(&header, image.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    char* at = image.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment{};
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_GNU_EH_FRAME) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  header.e_shnum = header.e_shstrndx = 0;
  header.e_shoff = 0;
  std::memcpy(image.data(), &header, sizeof header);
  sdk::Fd copy(::memfd_create("without-cfi", MFD_CLOEXEC));
  if (::write(copy.get(), image.data(), image.size()) != static_cast<ssize_t>(image.size()))
    throw std::runtime_error("cannot copy '" + path + "'");
  return copy;
}

}  // namespace ctprof
