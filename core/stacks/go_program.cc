// Finds the function table of a Go program, and the data that the runtime's module data adds to it.

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stacks/go_table.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kMaxTableBytes = 128 << 20;
// Limit on a segment that is searched.
constexpr std::uint64_t kMaxSearchedBytes = 32 << 20;
constexpr std::uint64_t kMaxRelocations = 1 << 20;
constexpr std::uint64_t kTableAlignment = 8;
// Words of the module data: the number that is read, the index of the address of the first
// function, and the first index that may have the address of function data, which depends on the
// version.
constexpr std::size_t kModuleWords = 64, kTextWord = 22, kFirstDataWord = 32;

using ModuleWords = std::array<std::uint64_t, kModuleWords>;

RegisterNumbers get_registers(const ElfFile& file) {
  return file.machine() == EM_AARCH64 ? kArmRegisters : kX86Registers;
}

std::string read_bytes_at(const ElfFile& file, FileAddress address, std::uint64_t size) {
  const auto stored = file.find_stored_bytes(address);
  return stored ? file.read_bytes(stored->offset, std::min(stored->size, size), kMaxTableBytes)
                : std::string();
}

GoTable find_table_in_section(const ElfFile& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"})
    if (const auto section = file.section(name); section && section->sh_type != SHT_NOBITS)
      return GoTable(file.read_bytes(section->sh_offset, section->sh_size, kMaxTableBytes),
                     section->sh_addr, get_registers(file));
  return {};
}

// Returns whether the file has the Go linker's build id.
bool has_go_note(const ElfFile& file) {
  constexpr std::uint64_t kMaxNoteSegmentBytes = 4096;
  constexpr std::string_view kGo("Go\0\0", 4);
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_NOTE)
      if (file.read_bytes(segment.p_offset, segment.p_filesz, kMaxNoteSegmentBytes).find(kGo) !=
          std::string::npos)
        return true;
  return false;
}

// Searches for the table of a file without sections: it begins at an aligned address of data.
GoTable find_table_in_segments(const ElfFile& file) {
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) != 0) continue;
    const std::string data = file.read_bytes(segment.p_offset, segment.p_filesz, kMaxTableBytes);
    std::uint64_t at = (kTableAlignment - segment.p_vaddr % kTableAlignment) % kTableAlignment;
    for (; at + kTableAlignment <= data.size(); at += kTableAlignment) {
      if (data[at + 1] != '\xff' || data[at + 2] != '\xff' || data[at + 3] != '\xff') continue;
      GoTable table(data.substr(at), segment.p_vaddr + at, get_registers(file));
      if (table.has_functions()) return table;
    }
  }
  return {};
}

std::uint64_t read_word(const std::string& data, std::uint64_t at) {
  std::uint64_t word = 0;
  if (at + sizeof word <= data.size()) data.copy(reinterpret_cast<char*>(&word), sizeof word, at);
  return word;
}

// Finds module data, which begins with pointers to the table and to its names.
std::optional<ModuleWords> find_module_in_data(const ElfFile& file, const GoTable& table) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const std::string data = file.read_bytes(segment.p_offset, segment.p_filesz, kMaxSearchedBytes);
    for (std::uint64_t at = 0; at + 2 * kWord <= data.size(); at += kWord) {
      if (read_word(data, at) != table.address()) continue;
      if (read_word(data, at + kWord) != table.names_address()) continue;
      ModuleWords words{};
      for (std::size_t i = 0; i < kModuleWords; ++i) words[i] = read_word(data, at + i * kWord);
      return words;
    }
  }
  return std::nullopt;
}

std::vector<Elf64_Rela> read_relocations(const ElfFile& file) {
  const auto address = file.find_dynamic_value(DT_RELA);
  const auto stored = address ? file.find_stored_bytes(*address) : std::nullopt;
  const std::uint64_t size = file.find_dynamic_value(DT_RELASZ).value_or(0);
  if (!stored) return {};
  return file.read_table<Elf64_Rela>(stored->offset, size / sizeof(Elf64_Rela), kMaxRelocations);
}

// Finds module data of a relocatable program: its pointers are in relocations.
std::optional<ModuleWords> find_module_in_relocations(const ElfFile& file, const GoTable& table) {
  const std::vector<Elf64_Rela> relocations = read_relocations(file);
  const auto points_to = [&](FileAddress target, FileAddress location) {
    const auto found = std::ranges::find(relocations, location, &Elf64_Rela::r_offset);
    return found != relocations.end() && static_cast<std::uint64_t>(found->r_addend) == target;
  };
  const auto begin = std::ranges::find_if(relocations, [&](const Elf64_Rela& relocation) {
    return static_cast<std::uint64_t>(relocation.r_addend) == table.address() &&
           points_to(table.names_address(), relocation.r_offset + sizeof(std::uint64_t));
  });
  if (begin == relocations.end()) return std::nullopt;
  const std::string data = read_bytes_at(file, begin->r_offset, sizeof(ModuleWords));
  ModuleWords words{};
  for (std::size_t i = 0; i < kModuleWords; ++i) words[i] = read_word(data, i * 8);
  for (const Elf64_Rela& relocation : relocations)
    if (const std::uint64_t at = relocation.r_offset - begin->r_offset; at < sizeof(ModuleWords))
      words[at / 8] = static_cast<std::uint64_t>(relocation.r_addend);
  return words;
}

void add_module_data(const ElfFile& file, GoTable& table) {
  auto words = find_module_in_data(file, table);
  if (!words) words = find_module_in_relocations(file, table);
  if (!words) return;
  if (table.lacks_text_start()) table.set_text_start((*words)[kTextWord]);
  const auto data = std::find_if(words->begin() + kFirstDataWord, words->end(), [&](auto word) {
    return word != 0 && table.describes_functions(file, word);
  });
  if (data != words->end()) table.set_function_data(*data);
}

}  // namespace

GoTable find_go_table(const ElfFile& file) {
  GoTable table = find_table_in_section(file);
  if (!table.has_functions() && file.sections().empty() && has_go_note(file))
    table = find_table_in_segments(file);
  if (table.has_functions()) add_module_data(file, table);
  // Without the address of the first function, the table has no addresses at all.
  return table.lacks_text_start() ? GoTable() : table;
}

std::shared_ptr<const GoTable> get_shared_go_table(const ElfFile& file) {
  auto table = std::static_pointer_cast<const GoTable>(file.shared_value().lock());
  if (!table) file.shared_value() = table = std::make_shared<const GoTable>(find_go_table(file));
  return table;
}

}  // namespace ctprof
