// Searches the symbols and relocations of a file for jemalloc, its functions, its thread-local
// variable, and the location of the thread-local segment.
//
// The public functions may have a prefix (malloc, je_malloc, _rjem_malloc), and the variable has
// another one (je_tsd_tls, _rjem_je_tsd_tls).
//
// The segment of a program is next to the thread pointer, at a distance that the linker determines.
// The loader chooses the location for a library, and writes the distance into slots that
// relocations name: one slot is enough to locate the whole segment. A library that uses module
// numbers instead (it may be loaded by dlopen) has no such slot.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"

namespace ctprof::jemalloc {

struct Function {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// An allocator's functions with one prefix. A linker drops those that are never called: a Rust
// program has no `free`, because it uses `sdallocx`.
struct AllocatorFunctions {
  std::string prefix;
  std::vector<Function> allocating;  // malloc, mallocx, calloc: the existing ones, in this order
  std::vector<Function> freeing;     // free, sdallocx, dallocx, realloc
};

struct Symbols {
  bool has_mallctl = false;  // whether jemalloc's own entry point, with any prefix, is defined
  std::vector<AllocatorFunctions> allocators;  // each has both kinds; without prefix last
  std::optional<std::uint64_t> tsd_offset;     // of `tsd_tls` in the thread-local segment
};

// Reads .dynsym, which every file has that others link to.
Symbols read_dynamic_symbols(const ElfFile& file);
// Reads .symtab, which strip(1) removes.
Symbols read_static_symbols(const ElfFile& file);

struct TlsSlot {
  std::uint64_t address = 0;  // as in the file; the loader adds the load address
  std::int64_t offset = 0;    // the slot's value belongs to this offset of the segment
};

struct TlsSlots {
  std::vector<TlsSlot> slots;
  bool uses_module_numbers = false;  // there are relocations for variables by module number
};

TlsSlots read_tls_slots(const ElfFile& file);

// Returns the distance from the thread pointer to the first byte of a program's thread-local
// segment; no value for an unknown machine.
std::optional<std::int64_t> compute_program_tls_start(std::uint16_t machine, const Elf64_Phdr& tls);

}  // namespace ctprof::jemalloc
