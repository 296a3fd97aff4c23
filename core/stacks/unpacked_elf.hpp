// ELF files in memory for readers that cannot read a file as it is, because it has compressed
// sections, or because its parts are in several files (elf_image.hpp builds those).
//
// Section sizes in the file are not trusted: a result of more than kMaxSize bytes in memory is
// refused.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Owns an ELF file in memory.
class MemoryElf {
 public:
  // Limit on the size in bytes.
  static constexpr std::size_t kMaxSize = 512 << 20;

  explicit MemoryElf(const std::string& image);
  const ElfFile& file() const { return file_; }

 private:
  sdk::Fd fd_;
  ElfFile file_;
};

enum class SectionKind : std::uint8_t { Symbols, DebugInformation };

struct UnpackedElf {
  // Null if no section of that kind must be unpacked, or if the file is broken.
  std::unique_ptr<MemoryElf> elf;
  bool is_too_large = false;
};

// Returns a copy of a file with the sections of one kind unpacked. Sections keep their numbers;
// other sections have no contents. SectionKind::Symbols unpacks .symtab and its names.
// DebugInformation unpacks if any part is compressed with zstd, since libdw can unpack zlib itself.
UnpackedElf make_unpacked_elf(const ElfFile& file, SectionKind kind);

}  // namespace ctprof
