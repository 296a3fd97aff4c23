#ifdef CTPROF_LIBDW
#include "core/elf/libdw.hpp"

#include <dlfcn.h>

#include <optional>

#include "core/elf/debug_sections.hpp"

namespace ctprof::dwarf {
namespace {

// Limit on the debug sections of a file, which has about twelve.
constexpr std::size_t kMaxDebugSections = 64;

template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

bool find_elf_functions(void* library, Libdw& dw) {
  return find_symbol(library, "elf_version", dw.elf_version) &&
         find_symbol(library, "elf_begin", dw.elf_begin) &&
         find_symbol(library, "elf_memory", dw.elf_memory) &&
         find_symbol(library, "elf_end", dw.elf_end) &&
         find_symbol(library, "elf_nextscn", dw.elf_next) &&
         find_symbol(library, "elf_getshdrstrndx", dw.elf_name_section) &&
         find_symbol(library, "elf64_getshdr", dw.elf_header) &&
         find_symbol(library, "elf_strptr", dw.elf_text) &&
         find_symbol(library, "elf_rawdata", dw.elf_data);
}

bool find_dwarf_functions(void* library, Libdw& dw) {
  return find_symbol(library, "dwarf_begin_elf", dw.begin) &&
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
}

std::optional<Libdw> load_libdw() {
  void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  Libdw dw{};
  const bool is_complete =
      library && find_elf_functions(library, dw) && find_dwarf_functions(library, dw);
  return is_complete && dw.elf_version(EV_CURRENT) != EV_NONE ? std::optional(dw) : std::nullopt;
}

}  // namespace

const Libdw* get_libdw() {
  static const std::optional<Libdw> loaded = load_libdw();
  return loaded ? &*loaded : nullptr;
}

void SectionMemory::add(const Libdw& dw, Elf* elf) {
  std::size_t names = 0;
  if (dw.elf_name_section(elf, &names) != 0) return;
  const std::size_t limit = all_.size() + kMaxDebugSections;
  for (Elf_Scn* section = nullptr;
       all_.size() < limit && (section = dw.elf_next(elf, section)) != nullptr;) {
    const Elf64_Shdr* header = dw.elf_header(section);
    const char* name = header ? dw.elf_text(elf, names, header->sh_name) : nullptr;
    if (!name || !is_debug_section(name)) continue;
    if (const Elf_Data* data = dw.elf_data(section, nullptr); data && data->d_buf)
      all_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
  }
}

std::string_view SectionMemory::get_text(const char* text, std::size_t max_size) const {
  for (const std::string_view section : all_) {
    const auto start = reinterpret_cast<std::uintptr_t>(section.data());
    const auto address = reinterpret_cast<std::uintptr_t>(text);
    if (address < start || address - start >= section.size()) continue;
    const std::string_view rest = section.substr(address - start, max_size);
    return rest.substr(0, rest.find('\0'));
  }
  return {};
}

}  // namespace ctprof::dwarf
#endif
