// Where the thread-local segment of a file comes to stand.
//
// Of a program the linker knows it: next to the thread pointer. Of a library the loader decides,
// and writes the distance into slots that relocations name: one slot is enough to know where the
// whole segment is. A library that asks for its variables by module number instead (it may come and
// go by dlopen) has no such slot.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

struct TlsSlot {
  std::uint64_t address = 0;  // in the file's own count; the loader adds where it put the file
  std::int64_t offset = 0;    // what is in the slot belongs to this place of the segment
};

struct TlsSlots {
  std::vector<TlsSlot> slots;
  bool by_module = false;  // there are relocations for variables by module number
};

TlsSlots tls_slots(const ElfFile& file);

// From the thread pointer to the first byte of a program's thread-local segment; nothing for a
// machine that we do not know.
std::optional<std::int64_t> program_tls_start(std::uint16_t machine, const Elf64_Phdr& tls);

}  // namespace ctprof::jemalloc
