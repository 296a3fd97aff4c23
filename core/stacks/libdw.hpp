// Loads elfutils' libdw at run time: declares the functions that are used, and owners of its
// handles.
//
// Internal to core/stacks: included where CTPROF_LIBDW is defined.

#pragma once

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/stacks/elf_file.hpp"

namespace ctprof::dwarf {

// The functions of the library that are used.
struct Libdw {
  decltype(&::elf_version) elf_version;
  decltype(&::elf_begin) elf_begin;
  decltype(&::elf_end) elf_end;
  decltype(&::elf_nextscn) elf_next;
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

template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

inline std::optional<Libdw> load_libdw() {
  void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  Libdw dw{};
  const bool is_complete = library && find_symbol(library, "elf_version", dw.elf_version) &&
                           find_symbol(library, "elf_begin", dw.elf_begin) &&
                           find_symbol(library, "elf_end", dw.elf_end) &&
                           find_symbol(library, "elf_nextscn", dw.elf_next) &&
                           find_symbol(library, "elf_rawdata", dw.elf_data) &&
                           find_symbol(library, "dwarf_begin_elf", dw.begin) &&
                           find_symbol(library, "dwarf_end", dw.end) &&
                           find_symbol(library, "dwarf_setalt", dw.set_dwz_file) &&
                           find_symbol(library, "dwarf_get_units", dw.units) &&
                           find_symbol(library, "dwarf_ranges", dw.ranges) &&
                           find_symbol(library, "dwarf_child", dw.child) &&
                           find_symbol(library, "dwarf_siblingof", dw.sibling) &&
                           find_symbol(library, "dwarf_dieoffset", dw.offset) &&
                           find_symbol(library, "dwarf_tag", dw.tag) &&
                           find_symbol(library, "dwarf_attr", dw.attribute) &&
                           find_symbol(library, "dwarf_whatform", dw.form) &&
                           find_symbol(library, "dwarf_formstring", dw.text) &&
                           find_symbol(library, "dwarf_formref_die", dw.referenced_entry) &&
                           find_symbol(library, "dwarf_formudata", dw.number) &&
                           find_symbol(library, "dwarf_lowpc", dw.low_address) &&
                           find_symbol(library, "dwarf_cu_info", dw.unit_info);
  return is_complete && dw.elf_version(EV_CURRENT) != EV_NONE ? std::optional(dw) : std::nullopt;
}

// Returns the library, or null if it is missing. It stays loaded.
inline const Libdw* get_libdw() {
  static const std::optional<Libdw> loaded = load_libdw();
  return loaded ? &*loaded : nullptr;
}

// The open debug information of a file; null if it has none.
class OpenDwarf {
 public:
  OpenDwarf(const Libdw& dw, const ElfFile& file)
      : elf_(dw.elf_begin(file.fd(), ELF_C_READ, nullptr), dw.elf_end),
        dwarf_(elf_ ? dw.begin(elf_.get(), DWARF_C_READ, nullptr) : nullptr, dw.end) {}
  Dwarf* get() const { return dwarf_.get(); }
  Elf* elf() const { return elf_.get(); }

 private:
  std::unique_ptr<Elf, decltype(&::elf_end)> elf_;
  std::unique_ptr<Dwarf, decltype(&::dwarf_end)> dwarf_;
};

// The memory ranges of sections. libdw returns the address of a text in a section without checking
// that the text ends in the section.
class SectionMemory {
 public:
  // Adds the sections of a file. REQUIRES: the library has opened its debug information, which
  // unpacks sections.
  void add(const Libdw& dw, Elf* elf) {
    for (Elf_Scn* section = nullptr; (section = dw.elf_next(elf, section)) != nullptr;) {
      const Elf_Data* data = dw.elf_data(section, nullptr);
      if (data && data->d_buf)
        all_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
    }
  }

  std::size_t count() const { return all_.size(); }
  // Removes the sections after the first `count`.
  void shrink(std::size_t count) { all_.resize(count); }

  // Returns the text at an address up to its NUL byte, the end of its section, or `max_size` bytes.
  std::string_view get_text(const char* text, std::size_t max_size) const {
    for (const std::string_view section : all_) {
      const auto start = reinterpret_cast<std::uintptr_t>(section.data());
      const auto address = reinterpret_cast<std::uintptr_t>(text);
      if (address < start || address - start >= section.size()) continue;
      const std::string_view rest = section.substr(address - start, max_size);
      return rest.substr(0, rest.find('\0'));
    }
    return {};
  }

 private:
  std::vector<std::string_view> all_;
};

}  // namespace ctprof::dwarf
