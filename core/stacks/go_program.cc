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

constexpr std::uint64_t kMostTableBytes = 128 << 20;
// Limit on a segment that is searched.
constexpr std::uint64_t kMostSearchedBytes = 32 << 20;
constexpr std::uint64_t kMostRelocations = 1 << 20;
constexpr std::uint64_t kTableAlignment = 8;
// Words of the module data: the number that is read, the index of the address of the first
// function, and the first index that may have the address of function data, which depends on the
// version.
constexpr std::size_t kWords = 64, kTextWord = 22, kFirstDataWord = 32;

using Words = std::array<std::uint64_t, kWords>;

RegisterNumbers registers_of(const ElfFile& file) {
  return file.machine() == EM_AARCH64 ? kArmRegisters : kX86Registers;
}

std::string bytes_at(const ElfFile& file, FileAddress address, std::uint64_t size) {
  const auto place = file.place_of(address);
  return place ? file.bytes(place->offset, std::min(place->size, size), kMostTableBytes)
               : std::string();
}

GoTable table_in_section(const ElfFile& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"})
    if (const auto section = file.section(name); section && section->sh_type != SHT_NOBITS)
      return GoTable(file.bytes(section->sh_offset, section->sh_size, kMostTableBytes),
                     section->sh_addr, registers_of(file));
  return {};
}

// Returns whether the file has the Go linker's build id.
bool has_go_note(const ElfFile& file) {
  constexpr std::uint64_t kMostNoteBytes = 4096;
  constexpr std::string_view kGo("Go\0\0", 4);
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_NOTE)
      if (file.bytes(segment.p_offset, segment.p_filesz, kMostNoteBytes).find(kGo) !=
          std::string::npos)
        return true;
  return false;
}

// Searches for the table of a file without sections: it begins at an aligned address of data.
GoTable table_in_segments(const ElfFile& file) {
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) != 0) continue;
    const std::string data = file.bytes(segment.p_offset, segment.p_filesz, kMostTableBytes);
    std::uint64_t at = (kTableAlignment - segment.p_vaddr % kTableAlignment) % kTableAlignment;
    for (; at + kTableAlignment <= data.size(); at += kTableAlignment) {
      if (data[at + 1] != '\xff' || data[at + 2] != '\xff' || data[at + 3] != '\xff') continue;
      GoTable table(data.substr(at), segment.p_vaddr + at, registers_of(file));
      if (table.has_functions()) return table;
    }
  }
  return {};
}

std::uint64_t word_at(const std::string& data, std::uint64_t at) {
  std::uint64_t word = 0;
  if (at + sizeof word <= data.size()) data.copy(reinterpret_cast<char*>(&word), sizeof word, at);
  return word;
}

// Finds module data, which begins with pointers to the table and to its names.
std::optional<Words> module_in_data(const ElfFile& file, const GoTable& table) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const std::string data = file.bytes(segment.p_offset, segment.p_filesz, kMostSearchedBytes);
    for (std::uint64_t at = 0; at + 2 * kWord <= data.size(); at += kWord) {
      if (word_at(data, at) != table.address()) continue;
      if (word_at(data, at + kWord) != table.names_address()) continue;
      Words words{};
      for (std::size_t i = 0; i < kWords; ++i) words[i] = word_at(data, at + i * kWord);
      return words;
    }
  }
  return std::nullopt;
}

std::vector<Elf64_Rela> relocations_of(const ElfFile& file) {
  const Elf64_Phdr* dynamic = file.segment(PT_DYNAMIC);
  if (!dynamic) return {};
  std::uint64_t address = 0, size = 0;
  const auto entries =
      file.table<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn), 1024);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_RELA) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_RELASZ) size = entry.d_un.d_val;
  }
  const auto place = file.place_of(address);
  if (address == 0 || !place) return {};
  return file.table<Elf64_Rela>(place->offset, size / sizeof(Elf64_Rela), kMostRelocations);
}

// Finds module data of a relocatable program: its pointers are in relocations.
std::optional<Words> module_in_relocations(const ElfFile& file, const GoTable& table) {
  const std::vector<Elf64_Rela> relocations = relocations_of(file);
  const auto points_to = [&](FileAddress target, FileAddress from) {
    const auto found = std::ranges::find(relocations, from, &Elf64_Rela::r_offset);
    return found != relocations.end() && static_cast<std::uint64_t>(found->r_addend) == target;
  };
  const auto begin = std::ranges::find_if(relocations, [&](const Elf64_Rela& relocation) {
    return static_cast<std::uint64_t>(relocation.r_addend) == table.address() &&
           points_to(table.names_address(), relocation.r_offset + sizeof(std::uint64_t));
  });
  if (begin == relocations.end()) return std::nullopt;
  const std::string data = bytes_at(file, begin->r_offset, sizeof(Words));
  Words words{};
  for (std::size_t i = 0; i < kWords; ++i) words[i] = word_at(data, i * 8);
  for (const Elf64_Rela& relocation : relocations)
    if (const std::uint64_t at = relocation.r_offset - begin->r_offset; at < sizeof(Words))
      words[at / 8] = static_cast<std::uint64_t>(relocation.r_addend);
  return words;
}

void add_module_data(const ElfFile& file, GoTable& table) {
  auto words = module_in_data(file, table);
  if (!words) words = module_in_relocations(file, table);
  if (!words) return;
  if (table.lacks_text_start()) table.set_text_start((*words)[kTextWord]);
  const auto data = std::find_if(words->begin() + kFirstDataWord, words->end(), [&](auto word) {
    return word != 0 && table.describes_functions(file, word);
  });
  if (data != words->end()) table.set_function_data(*data);
}

}  // namespace

GoTable find_go_table(const ElfFile& file) {
  GoTable table = table_in_section(file);
  if (!table.has_functions() && file.sections().empty() && has_go_note(file))
    table = table_in_segments(file);
  if (table.has_functions()) add_module_data(file, table);
  // Without the address of the first function, the table has no addresses at all.
  return table.lacks_text_start() ? GoTable() : table;
}

std::shared_ptr<const GoTable> shared_go_table(const ElfFile& file) {
  std::shared_ptr<const GoTable> table = file.go_table().lock();
  if (!table) file.go_table() = table = std::make_shared<const GoTable>(find_go_table(file));
  return table;
}

}  // namespace ctprof
