#include "plugins/jemalloc-ptrace/finder/libdw.hpp"

#include <dlfcn.h>

#include <optional>

namespace ctprof::jemalloc {
namespace {

// Looks up functions; complete only if all of them exist.
class FunctionLoader {
 public:
  explicit FunctionLoader(void* library) : library_(library), is_complete_(library != nullptr) {}

  template <class Function>
  FunctionLoader& find(const char* name, Function*& function) {
    function = library_ ? reinterpret_cast<Function*>(::dlsym(library_, name)) : nullptr;
    is_complete_ = is_complete_ && function != nullptr;
    return *this;
  }
  bool is_complete() const { return is_complete_; }

 private:
  void* library_;
  bool is_complete_;
};

std::optional<Libdw> load_libdw() {
  Libdw dw{};
  FunctionLoader functions(::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL));
  functions.find("elf_version", dw.elf_version)
      .find("elf_begin", dw.elf_begin)
      .find("elf_memory", dw.elf_memory)
      .find("elf_end", dw.elf_end)
      .find("elf_nextscn", dw.elf_nextscn)
      .find("elf_getshdrstrndx", dw.elf_getshdrstrndx)
      .find("elf64_getshdr", dw.elf64_getshdr)
      .find("elf_strptr", dw.elf_strptr)
      .find("elf_rawdata", dw.elf_rawdata)
      .find("dwarf_begin_elf", dw.dwarf_begin_elf)
      .find("dwarf_end", dw.dwarf_end)
      .find("dwarf_get_units", dw.dwarf_get_units)
      .find("dwarf_child", dw.dwarf_child)
      .find("dwarf_siblingof", dw.dwarf_siblingof)
      .find("dwarf_dieoffset", dw.dwarf_dieoffset)
      .find("dwarf_tag", dw.dwarf_tag)
      .find("dwarf_attr", dw.dwarf_attr)
      .find("dwarf_whatform", dw.dwarf_whatform)
      .find("dwarf_formstring", dw.dwarf_formstring)
      .find("dwarf_formudata", dw.dwarf_formudata);
  return functions.is_complete() && dw.elf_version(EV_CURRENT) != EV_NONE ? std::optional(dw)
                                                                          : std::nullopt;
}

}  // namespace

const Libdw* get_libdw() {
  static const std::optional<Libdw> loaded = load_libdw();
  return loaded ? &*loaded : nullptr;
}

}  // namespace ctprof::jemalloc
