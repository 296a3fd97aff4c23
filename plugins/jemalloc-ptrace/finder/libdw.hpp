// libdw, loaded when the first debug information is met. Most captures meet none, and each would
// wait for it and the libraries behind it: half a millisecond before all else begins.

#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

namespace ctprof::jemalloc {

// What is called of it, by the names that it has there.
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

// Null where it is not installed. It stays loaded. Threads: any.
const Libdw* libdw();

}  // namespace ctprof::jemalloc
