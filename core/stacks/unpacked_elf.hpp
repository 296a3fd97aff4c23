// ELF files in memory, for readers that cannot read what a file has as it is: sections that are
// packed, parts of several files.
//
// Sizes that sections claim are not believed: what would take more than kMost in memory is refused.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/stacks/elf_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Owns an ELF file in memory.
class MemoryElf {
 public:
  // Bytes of it.
  static constexpr std::size_t kMost = 512 << 20;

  explicit MemoryElf(const std::string& image);
  const ElfFile& file() const { return file_; }

 private:
  sdk::Fd fd_;
  ElfFile file_;
};

enum class Packed : std::uint8_t { Symbols, DebugInformation };

struct UnpackedElf {
  // Null: nothing of that kind is packed in a way that needs it, or it is broken.
  std::unique_ptr<MemoryElf> elf;
  bool is_too_large = false;
};

// A file with the sections of that kind unpacked, at the numbers that they have in `file`; other
// sections are there without contents. Symbols: .symtab and its names; debug information: where any
// part of it is packed by zstd, for libdw can unpack zlib by itself.
UnpackedElf unpacked_elf(const ElfFile& file, Packed kind);

// A file of sections by name.
std::unique_ptr<MemoryElf> elf_of(std::uint16_t machine,
                                  const std::vector<std::pair<std::string, std::string>>& sections);

}  // namespace ctprof
