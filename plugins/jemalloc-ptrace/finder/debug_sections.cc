#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"

#include <endian.h>

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kUnbelievable = UINT64_MAX;

// Old compressed sections begin with "ZLIB" and the size, most significant byte first.
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

DebugSections debug_sections(const ElfFile& file) {
  DebugSections found;
  for (const NamedSection& section : file.named_sections()) {
    const bool debug = section.name.starts_with(".debug") || section.name.starts_with(".zdebug");
    if (!debug && (section.header.sh_flags & SHF_COMPRESSED) == 0) continue;
    found.bytes = capped_sum(found.bytes, unpacked_size(file, section));
    found.info = found.info || section.name.starts_with(".debug_info") ||
                 section.name.starts_with(".zdebug_info");
    found.packed = found.packed || section.name == ".debug_cu_index";
  }
  return found;
}

}  // namespace ctprof::jemalloc
