// Loads elfutils' libdw when the first debug information is read: declares the functions that are
// used, and owners of its handles. Loading it with its dependencies takes half a millisecond, and
// most captures need no debug information.
//
// Included where CTPROF_LIBDW is defined.

#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/elf/elf_file.hpp"

namespace ctprof::dwarf {

// The functions of the library that are used.
struct Libdw {
  decltype(&::elf_version) elf_version;
  decltype(&::elf_begin) elf_begin;
  decltype(&::elf_memory) elf_memory;
  decltype(&::elf_end) elf_end;
  decltype(&::elf_nextscn) elf_next;
  decltype(&::elf_getshdrstrndx) elf_name_section;
  decltype(&::elf64_getshdr) elf_header;
  decltype(&::elf_strptr) elf_text;
  decltype(&::elf_rawdata) elf_data;
  decltype(&::dwarf_begin_elf) begin;
  decltype(&::dwarf_end) end;
  decltype(&::dwarf_setalt) set_dwz_file;
  decltype(&::dwarf_get_units) units;
  decltype(&::dwarf_ranges) ranges;
  decltype(&::dwarf_child) child;
  decltype(&::dwarf_siblingof) sibling;
  decltype(&::dwarf_dieoffset) offset;
  decltype(&::dwarf_tag) tag;
  decltype(&::dwarf_attr) attribute;
  decltype(&::dwarf_whatform) form;
  decltype(&::dwarf_formstring) text;
  decltype(&::dwarf_formref_die) referenced_entry;
  decltype(&::dwarf_formudata) number;
  decltype(&::dwarf_lowpc) low_address;
  decltype(&::dwarf_cu_info) unit_info;
};

// Returns the library, or null if it is not installed. It stays loaded. Threads: any.
const Libdw* get_libdw();

// The open debug information of a file; null if it has none.
class OpenDwarf {
 public:
  OpenDwarf(const Libdw& dw, const ElfFile& file)
      : OpenDwarf(dw, dw.elf_begin(file.fd(), ELF_C_READ, nullptr)) {}
  // Reads a file in memory, which must outlive this object.
  OpenDwarf(const Libdw& dw, std::string& image)
      : OpenDwarf(dw, image.empty() ? nullptr : dw.elf_memory(image.data(), image.size())) {}
  Dwarf* get() const { return dwarf_.get(); }
  Elf* elf() const { return elf_.get(); }

 private:
  OpenDwarf(const Libdw& dw, Elf* elf)
      : elf_(elf, dw.elf_end),
        dwarf_(elf ? dw.begin(elf, DWARF_C_READ, nullptr) : nullptr, dw.end) {}

  std::unique_ptr<Elf, decltype(&::elf_end)> elf_;
  std::unique_ptr<Dwarf, decltype(&::dwarf_end)> dwarf_;
};

// The memory ranges of debug sections. libdw returns the address of a text in a section without
// checking that the text ends in the section.
class SectionMemory {
 public:
  // Adds the debug sections of a file. REQUIRES: the library has opened its debug information,
  // which unpacks sections.
  void add(const Libdw& dw, Elf* elf);

  std::size_t count() const { return all_.size(); }
  // Removes the sections after the first `count`.
  void shrink(std::size_t count) { all_.resize(count); }

  // Returns the text at an address up to its NUL byte, the end of its section, or `max_size` bytes.
  std::string_view get_text(const char* text, std::size_t max_size) const;

 private:
  std::vector<std::string_view> all_;
};

}  // namespace ctprof::dwarf
