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

// An allocator's two sides, of one prefix.
struct MallocAndFree {
  std::string prefix;
  Function malloc;
  Function free;
};

struct Symbols {
  bool mallctl = false;              // jemalloc's own entry point, with any prefix, is defined
  std::vector<MallocAndFree> pairs;  // without prefix last
  std::optional<std::uint64_t> tsd_offset;  // of `tsd_tls` in the thread-local segment
};

// Of .dynsym, which is always there in a file that others link to.
Symbols dynamic_symbols(const ElfFile& file);
// Of .symtab, which strip(1) takes away.
Symbols static_symbols(const ElfFile& file);

}  // namespace ctprof::jemalloc
