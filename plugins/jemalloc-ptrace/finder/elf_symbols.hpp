// What the symbols and relocations of a file tell about jemalloc: that it is there, where its
// functions are, where its thread-local variable is, and where the thread-local segment comes to
// be.
//
// The public functions may have a prefix (malloc, je_malloc, _rjem_malloc), and the variable has
// another (je_tsd_tls, _rjem_je_tsd_tls).
//
// The segment of a program is next to the thread pointer, as the linker knows. That of a library is
// where the loader puts it, and the loader writes the distance into slots that relocations name:
// one slot is enough to locate the whole segment. A library that reaches its variables by module
// number instead (it may come and go by dlopen) has no such slot.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"

namespace ctprof::jemalloc {

struct Function {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// An allocator's functions, of one prefix. A linker drops those that are never called: a Rust
// program has no `free`, for it gives memory back by `sdallocx`.
struct AllocatorFunctions {
  std::string prefix;
  std::vector<Function> allocating;  // malloc, mallocx, calloc: those that are there, in this order
  std::vector<Function> freeing;     // free, sdallocx, dallocx, realloc
};

struct Symbols {
  bool mallctl = false;  // jemalloc's own entry point, with any prefix, is defined
  std::vector<AllocatorFunctions> allocators;  // each has both sides; without prefix last
  std::optional<std::uint64_t> tsd_offset;     // of `tsd_tls` in the thread-local segment
};

// Of .dynsym, which is always there in a file that others link to.
Symbols dynamic_symbols(const ElfFile& file);
// Of .symtab, which strip(1) takes away.
Symbols static_symbols(const ElfFile& file);

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
