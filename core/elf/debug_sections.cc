#include "core/elf/debug_sections.hpp"

#include <endian.h>

#include <cstring>

namespace ctprof {

bool is_debug_section(std::string_view name) {
  return name.starts_with(".debug") || name.starts_with(".zdebug");
}

// Old tools wrote "ZLIB" and the size, most significant byte first.
std::uint64_t get_unpacked_size(const ElfFile& file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS) return 0;
  if ((section.sh_flags & SHF_COMPRESSED) != 0) {
    Elf64_Chdr packed{};
    return file.read(section.sh_offset, &packed, sizeof packed) ? packed.ch_size : UINT64_MAX;
  }
  char head[12];
  const bool is_packed = section.sh_size >= sizeof head &&
                         file.read(section.sh_offset, head, sizeof head) &&
                         std::memcmp(head, "ZLIB", 4) == 0;
  std::uint64_t size = section.sh_size;
  if (is_packed) std::memcpy(&size, head + 4, sizeof size);
  return is_packed ? be64toh(size) : size;
}

}  // namespace ctprof
