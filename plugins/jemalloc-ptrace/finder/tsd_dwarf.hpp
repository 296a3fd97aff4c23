// Where the counters are in jemalloc's thread-local variable, as debug information describes it:
// two members of `struct tsd_s`.
//
// Reading DWARF is libdw's job. What is kept from it: files whose sections claim to be larger than
// we have patience for, files that other files point to (libdw would open them by name, in our
// namespace), and entries that go round in circles.

#pragma once

#include <libelf.h>

#include <optional>

#include "plugins/jemalloc-ptrace/finder/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/known_versions.hpp"

namespace ctprof::jemalloc {

// Of a file that has debug information inside; also of a .dwp, a package of it.
std::optional<TsdFields> tsd_fields_in(const ElfFile& file);

// Of an ELF that is opened already, or lies in memory.
std::optional<TsdFields> tsd_fields_of(Elf* elf);

}  // namespace ctprof::jemalloc
