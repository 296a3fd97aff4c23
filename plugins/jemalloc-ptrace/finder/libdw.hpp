// Loads libdw when the first debug information is found. Most captures find none, and loading it
// with its dependencies would delay each capture by half a millisecond.

#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

namespace ctprof::jemalloc {

// The functions that are called, by their names in libdw.
struct Libdw {
  decltype(&::elf_version) elf_version;
  decltype(&::elf_begin) elf_begin;
  decltype(&::elf_memory) elf_memory;
  decltype(&::elf_end) elf_end;
  decltype(&::elf_nextscn) elf_nextscn;
  decltype(&::elf_getshdrstrndx) elf_getshdrstrndx;
  decltype(&::elf64_getshdr) elf64_getshdr;
  decltype(&::elf_strptr) elf_strptr;
  decltype(&::elf_rawdata) elf_rawdata;
  decltype(&::dwarf_begin_elf) dwarf_begin_elf;
  decltype(&::dwarf_end) dwarf_end;
  decltype(&::dwarf_get_units) dwarf_get_units;
  decltype(&::dwarf_child) dwarf_child;
  decltype(&::dwarf_siblingof) dwarf_siblingof;
  decltype(&::dwarf_dieoffset) dwarf_dieoffset;
  decltype(&::dwarf_tag) dwarf_tag;
  decltype(&::dwarf_attr) dwarf_attr;
  decltype(&::dwarf_whatform) dwarf_whatform;
  decltype(&::dwarf_formstring) dwarf_formstring;
  decltype(&::dwarf_formudata) dwarf_formudata;
};

// Returns null if it is not installed. It stays loaded. Threads: any.
const Libdw* get_libdw();

}  // namespace ctprof::jemalloc
