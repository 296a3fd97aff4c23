// What the symbols of a file tell about jemalloc: that it is there, where its functions are, where
// its thread-local variable is.
//
// The public functions may have a prefix (malloc, je_malloc, _rjem_malloc), and the variable has
// another (je_tsd_tls, _rjem_je_tsd_tls).

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

// An allocator's functions, of one prefix. A linker drops those that nobody calls: a Rust program
// has no `free`, for it gives memory back by `sdallocx`.
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

}  // namespace ctprof::jemalloc
